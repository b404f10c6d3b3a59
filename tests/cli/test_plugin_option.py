import pytest
from command_line import SMALL, mistake, ngo

from ngo.gossip.topology import TOPOLOGIES

PLUGIN = """
from ngo.data.dataset import DATASETS
from ngo.gossip.topology import TOPOLOGIES

DATASETS.add("mine", DATASETS["digits"])
TOPOLOGIES.add("mine", TOPOLOGIES["ring"])
"""


def test_a_plugin_is_named_before_or_behind_the_command_and_gives_names(own_entries, tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    run = ["train", *SMALL, "--dataset", "mine", "--topology", "mine", "--out", tmp_path / "run"]
    assert "'mine' is unknown" in mistake(*run)
    wrong = ["spectra", "--topology", "mien", "--out", tmp_path / "s.parquet"]
    for words in (["--plugin", plugin, *wrong], [*wrong, f"--plugin={plugin}"]):
        assert mistake(*words) == (
            f"topology: 'mien' is unknown; allowed: {', '.join(sorted(TOPOLOGIES))}. Did you mean "
            "'mine'?"
        )
    ngo(*run, "--plugin", plugin)
    help = " ".join(ngo("train", "--help", f"--plugin={plugin}").split())
    assert f"({', '.join(sorted(TOPOLOGIES))})" in help


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
