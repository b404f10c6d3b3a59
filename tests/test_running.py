import subprocess
import sys

import psutil
import pytest
from running import awaited, ended, kill, start

# A process that starts another one, which runs until it is killed, and prints its number.
PARENT = """
import subprocess, sys
child = subprocess.Popen(["sleep", "3600"])
print(child.pid, flush=True)
sys.stdin.read()
"""


def parent_and_child():
    parent = start([sys.executable, "-c", PARENT], stdin=subprocess.PIPE)
    return parent, psutil.Process(int(parent.stdout.readline()))


def is_gone(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_process_that_does_not_end_is_killed_with_its_children():
    parent, child = parent_and_child()
    with pytest.raises(pytest.fail.Exception, match="not ended within 0.1 s: .*"):
        ended(parent, within=0.1)
    awaited(lambda: is_gone(child))


def test_orphans_of_a_process_are_killed():
    parent, child = parent_and_child()
    parent.stdin.close()
    parent.wait(60)
    assert not is_gone(child)
    kill(parent)
    awaited(lambda: is_gone(child))
