"""Plugins and described data in a config: what they make, and what a change in them reruns."""

import hashlib
import json
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from clone import REPOSITORY, Clone, assert_one_line

PLUGINS = REPOSITORY.glob("examples/plugins/*.py")
EXAMPLES = sorted(str(path.relative_to(REPOSITORY)) for path in PLUGINS)
BASE = {"tier": "test", "device": "cpu", "seeds": [0]}
FLOWERS = {"dataset": "flowers", "model": "flower_net", "partition": "blocks", "workers": 4}
COMPARE = [
    {"method": "gossip", "topology": ["ring", "cliques"]},
    {"method": "push_diging", "topology": ["de_bruijn", "rotating_partners"]},
    {"method": "slowmo", "topology": "ring", "local_steps": 3},
    {"method": "gossip", "topology": "ring", "local_rule": "adam_cosine", "beta1": [0.8, 0.9]},
    {"method": "ngo", "topology": "ring", "coupling": "bounded_confidence", "confidence": 0.5},
]
RUNS = 8
ALL_EXAMPLES = {
    **BASE,
    "plugins": EXAMPLES,
    "defaults": {"lr": 0.05, "batch_size": 8, "epochs": 4, "eval_every": 4},
    "settings": {"flowers": FLOWERS, "svm": {**FLOWERS, "model": "linear_svm", "task": "hinge"}},
    "training": {
        "mine": {"settings": ["flowers"], "compare": COMPARE, "snapshots": [0, "final"]},
        "svm": {"settings": ["svm"], "compare": [{"method": "gossip", "topology": "ring"}]},
    },
    "disagreement": {"mine": {"norm": 2}},
    "spectra": {"tableS1": {"topology": ["ring", "cliques"], "draws": 2}},
}
DISAGREEMENT = "results/test/metrics/disagreement_mine.parquet"
MADE = ("mine", "svm", "tableS1", DISAGREEMENT)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """A clone in which the targets have been made; tests leave it as it is."""
    made = Clone(tmp_path_factory.mktemp("plugins") / "ngo")
    shutil.copytree(REPOSITORY / "examples/plugins", made.root / "examples/plugins")
    (made.root / "test.yaml").write_text(yaml.safe_dump(ALL_EXAMPLES))
    made.snakemake(*MADE)
    return made


def records(examples):
    return [json.loads(path.read_text()) for path in examples.root.glob("results/runs/*/run.json")]


def test_every_plugin_is_used_and_recorded(examples):
    folder = examples.root / "results/test/metrics"
    mine, svm = (pd.read_parquet(folder / f"{name}.parquet") for name in ("mine", "svm"))
    assert mine["run"].nunique() == RUNS
    assert set(mine["topology"]) == {"ring", "cliques", "de_bruijn", "rotating_partners"}
    assert set(mine["method"]) == {"gossip", "push_diging", "slowmo", "ngo"}
    assert sorted(mine["beta1"].dropna().unique()) == [0.8, 0.9]
    assert set(mine["coupling"].dropna()) == {"power", "bounded_confidence"}
    assert svm["task"].unique().tolist() == ["hinge"]
    for table in (mine, svm):
        last = table[table["step"] == table["step"].max()]
        columns = ["consensus_loss", "consensus_accuracy", "workers_loss_mean", "V"]
        assert last[columns].notna().all(axis=None)
        assert (last["consensus_loss"] < table[table["step"] == 0]["consensus_loss"].iloc[0]).all()
    assert len(EXAMPLES) == 11
    files = [examples.root / name for name in EXAMPLES]
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    hashes = [{"file": path.name, "sha256": own} for path, own in zip(files, sums, strict=True)]
    assert [record["plugins"] for record in records(examples)] == [hashes] * (RUNS + 1)


PLUGIN = """
from ngo.models.model import model

HIDDEN = 8


@model("own", input_shape=(1, 28, 28), task="classification")
def own(generator):
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(784, HIDDEN), nn.Linear(HIDDEN, 10))
"""
TINY = {"dataset": "digits", "partition": "iid", "workers": 2, "batch_size": 8, "epochs": 0.1}
OWN_MODEL = {
    **BASE,
    "plugins": ["mine.py"],
    "settings": {"own": {**TINY, "model": "own"}, "known": {**TINY, "model": "mnist_fc"}},
    "training": {"mine": {"settings": ["own", "known"], "compare": [{"method": "gossip"}]}},
}


@pytest.fixture
def clone(tmp_path):
    clone = Clone(tmp_path / "ngo")
    (clone.root / "mine.py").write_text(PLUGIN)
    (clone.root / "test.yaml").write_text(yaml.safe_dump(OWN_MODEL))
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
        more = {**OWN_MODEL, "plugins": ["mine.py", "other.py"]}
        (clone.root / "test.yaml").write_text(yaml.safe_dump(more))
        assert clone.planned("mine") == {}


def test_every_command_gets_the_plugins_and_a_mistake_in_one_is_a_line(clone):
    out = clone.snakemake("-n", "-p", "mine", "assumptions")
    commands = [line for line in out.splitlines() if "ngo " in line and "> logs/" in line]
    # Data, the trial of the plugin, the partitions of two settings, two jobs, their table, its
    # figure, the assumptions.
    assert len(commands) == 9
    assert all(" --plugin mine.py " in line for line in commands)
    (clone.root / "mine.py").write_text("1 / 0\n")
    out = clone.snakemake("-n", code=1)
    assert_one_line(out, "plugins: 'mine.py' can't be imported: ZeroDivisionError, line 1")


OWN_DATA = {
    **BASE,
    "plugins": ["marks.yaml"],
    "settings": {
        "marks": {"dataset": "marks", "model": "mnist_fc", "partition": "natural", "workers": 3,
                  "batch_size": 4, "epochs": 0.5},
        "digits": {"dataset": "digits", "model": "mnist_fc", "partition": "iid", "workers": 2,
                   "batch_size": 8, "epochs": 0.05},
    },
    "training": {"mine": {"settings": ["marks", "digits"], "compare": [{"method": "gossip"}]}},
}  # fmt: skip


def save(root, seed):
    rng, labels = np.random.default_rng(seed), np.arange(60) % 3
    images = rng.integers(0, 256, (60, 28, 28), dtype=np.uint8)
    pairs = {"x_train": images[:48], "y_train": labels[:48], "owner_train": np.arange(48) // 8}
    np.savez(root / "data/marks.npz", **pairs, x_test=images[48:], y_test=labels[48:])


def test_another_content_is_refused_until_it_is_described_and_reruns_its_runs_alone(tmp_path):
    clone = Clone(tmp_path / "ngo")
    (clone.root / "data").mkdir()
    (clone.root / "test.yaml").write_text(yaml.safe_dump(OWN_DATA))
    data = {"NGO_DATA": str(clone.root / "data")}

    def describe():
        words = ["describe", "data/marks.npz", "--data-root", "data", "--out", "marks.yaml"]
        clone.ngo(*words)

    save(clone.root, seed=0)
    describe()
    clone.snakemake("mine", **data)
    assert clone.planned("mine", **data) == {}
    save(clone.root, seed=1)
    with (clone.root / "marks.yaml").open("a") as file:
        file.write("\n# A note.\n")
    assert clone.planned("mine", **data) == {}
    out = clone.snakemake("mine", "--forcerun", "train", code=1, **data)
    assert_one_line(out, "data.root: the content of '.*marks.npz' is not the described one")
    describe()
    again = {"data": 1, "partition": 1, "train": 1, "aggregate": 1, "mine": 1}
    assert clone.planned("mine", **data) == again
