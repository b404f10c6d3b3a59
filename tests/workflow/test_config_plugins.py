"""A config's plugins: names, commands, and what a change in them reruns."""

import pytest
import yaml
from clone import Clone, assert_one_line

PLUGIN = """
from ngo.models.model import model

HIDDEN = 8


@model("own", input_shape=(1, 28, 28), task="classification")
def own(generator):
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(784, HIDDEN), nn.Linear(HIDDEN, 10))
"""
TINY = {"dataset": "digits", "partition": "iid", "workers": 2, "batch_size": 8, "epochs": 0.1}
OVERLAY = {
    "tier": "test",
    "device": "cpu",
    "seeds": [0],
    "plugins": ["mine.py"],
    "settings": {"own": {**TINY, "model": "own"}, "known": {**TINY, "model": "mnist_fc"}},
    "training": {
        "mine": {"settings": ["own", "known"], "compare": [{"method": "gossip"}]},
    },
}


@pytest.fixture
def clone(tmp_path):
    clone = Clone(tmp_path / "ngo")
    (clone.root / "mine.py").write_text(PLUGIN)
    (clone.root / "test.yaml").write_text(yaml.safe_dump(OVERLAY))
    return clone


def test_a_changed_plugin_reruns_what_uses_it(clone):
    clone.snakemake("mine")
    assert clone.planned("mine") == {}
    trained = clone.trained()
    assert len(trained) == 2
    with clone.changed("mine.py", "HIDDEN = 8", "HIDDEN = 16"):
        clone.snakemake("mine")
        (again,) = clone.trained() - trained
        assert "own" in (clone.root / f"results/runs/{again.split()[0]}/run.json").read_text()
        assert clone.planned("mine") == {}
        (clone.root / "other.py").write_text("NAME = 1\n")
        (clone.root / "test.yaml").write_text(
            yaml.safe_dump({**OVERLAY, "plugins": ["mine.py", "other.py"]})
        )
        assert clone.planned("mine") == {}


def test_every_command_gets_the_plugins_and_a_mistake_in_one_is_a_line(clone):
    out = clone.snakemake("-n", "-p", "mine", "assumptions")
    commands = [line for line in out.splitlines() if "ngo " in line and " > logs/" in line]
    # Data, the partitions of two settings, two jobs, their table, its figure, the assumptions.
    assert len(commands) == 8
    assert all(" --plugin mine.py " in line for line in commands)
    (clone.root / "mine.py").write_text("1 / 0\n")
    out = clone.snakemake("-n", code=1)
    assert_one_line(out, "plugins: 'mine.py' can't be imported: ZeroDivisionError, line 1")
