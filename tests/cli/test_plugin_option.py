import sys

import pytest
from command_line import SMALL, mistake, ngo
from running import ended, finished, start

from ngo.gossip.topology import TOPOLOGIES

NAMES = {
    "topology": "from ngo.gossip.topology import TOPOLOGIES as registry\nname = 'ring'",
    "method": "from ngo.gossip.method import METHODS as registry\nname = 'ngo'",
    "dataset": "from ngo.data.dataset import DATASETS as registry\nname = 'digits'",
}


def command(*arguments):
    return start([sys.executable, "-m", "ngo", *map(str, arguments)])


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(f"{NAMES['topology']}\nregistry.add('mine', registry[name])\n")
    return path


@pytest.mark.parametrize("option", NAMES)
def test_names_of_a_plugin_are_allowed_in_options(own_entries, tmp_path, option):
    path = tmp_path / "mine.py"
    path.write_text(f"{NAMES[option]}\nregistry.add('mine', registry[name])\n")
    run = ["train", *SMALL, f"--{option}", "mine"]
    assert "'mine' is unknown" in mistake(*run, "--out", tmp_path / "run")
    ngo(*run, "--out", tmp_path / "run", "--plugin", path)


def test_a_plugin_is_named_before_or_behind_the_command(tmp_path, plugin):
    wrong = ["spectra", "--topology", "mien", "--out", tmp_path / "s.parquet"]
    for words in (["--plugin", plugin, *wrong], [*wrong, f"--plugin={plugin}"]):
        process = command(*words)
        _, err = ended(process)
        assert process.returncode == 2
        assert err == (
            f"ngo: topology: 'mien' is unknown; allowed: {', '.join(sorted([*TOPOLOGIES, 'mine']))}"
            ". Did you mean 'mine'?\n"
        )
    finished(command("spectra", "--topology", "mine", *wrong[3:], "--plugin", plugin))


def test_help_lists_the_names_of_a_plugin(plugin):
    help = " ".join(finished(command("train", "--help", f"--plugin={plugin}")).split())
    assert f"({', '.join(sorted([*TOPOLOGIES, 'mine']))})" in help


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not a Python file."),
        ("x = ", "can't be imported: SyntaxError"),
        ("\n1 / 0", "can't be imported: ZeroDivisionError, line 2: division by zero"),
        ("from ngo.common.registry import UserError\nraise UserError('no')", "bad.py': no"),
    ],
)
def test_a_bad_plugin_is_one_line_before_other_mistakes(tmp_path, content, message):
    if content is not None:
        (tmp_path / "bad.py").write_text(content)
    for words in (["train", "--plugin"], ["methods", "--nosuch", "--plugin"], ["--plugin"]):
        line = mistake(*words, tmp_path / "bad.py")
        assert line.startswith("plugin: ")
        assert message in line
