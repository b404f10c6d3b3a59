import os
import sys
from importlib.util import find_spec

import pytest

from ngo.cli import prefork, prefork_server
from ngo.cli.cli import main
from ngo.measures.measurement import MEASUREMENTS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prefork servers need Linux")


def test_the_server_imports_what_its_commands_need():
    modules = (*prefork_server.FIRST, *prefork_server.REST)
    for module in modules:
        assert find_spec(module), module
    for command in prefork.COMMANDS:
        measured = command in MEASUREMENTS
        assert ("ngo.cli.measurement_commands" if measured else main.modules[command]) in modules


@pytest.mark.parametrize(
    ("work", "code"), [(lambda: None, 0), (lambda: sys.exit(3), 3), (lambda: 1 // 0, 1)]
)
def test_a_child_ends_as_a_program_does(work, code, capfd):
    child = prefork_server._fork(work)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
    assert ("ZeroDivisionError" in capfd.readouterr().err) == (code == 1)
