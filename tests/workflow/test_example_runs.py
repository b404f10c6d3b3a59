"""The example plugins in a config: what they make, what a change reruns, and their archive."""

import hashlib
import json
import shutil

import pandas as pd
import pytest
import running
import yaml
from clone import REPOSITORY, Clone

EXAMPLES = sorted(
    str(path.relative_to(REPOSITORY)) for path in REPOSITORY.glob("examples/plugins/*.py")
)
FLOWERS = {"dataset": "flowers", "model": "flower_net", "partition": "blocks", "workers": 4}
COMPARE = [
    {"method": "gossip", "topology": ["ring", "cliques"]},
    {"method": "push_diging", "topology": ["de_bruijn", "rotating_partners"]},
    {"method": "slowmo", "topology": "ring", "local_steps": 3},
    {"method": "gossip", "topology": "ring", "local_rule": "adam_cosine", "beta1": [0.8, 0.9]},
    {"method": "ngo", "topology": "ring", "coupling": "bounded_confidence", "confidence": 0.5},
]
RUNS = 8
OVERLAY = {
    "tier": "test",
    "device": "cpu",
    "seeds": [0],
    "plugins": EXAMPLES,
    "defaults": {"lr": 0.05, "batch_size": 8, "epochs": 4, "eval_every": 4},
    "settings": {
        "flowers": FLOWERS,
        "svm": {**FLOWERS, "model": "linear_svm", "task": "hinge"},
    },
    "training": {
        "mine": {"settings": ["flowers"], "compare": COMPARE, "snapshots": [0, "final"]},
        "svm": {"settings": ["svm"], "compare": [{"method": "gossip", "topology": "ring"}]},
    },
    "disagreement": {"mine": {"norm": 2}},
    "spectra": {"tableS1": {"topology": ["ring", "cliques"], "draws": 2}},
}
DISAGREEMENT = "results/test/metrics/disagreement_mine.parquet"
TARGETS = ("mine", "svm", "tableS1", DISAGREEMENT)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone in which the targets have been made; tests leave it as it is."""
    made = Clone(tmp_path_factory.mktemp("plugins") / "ngo")
    shutil.copytree(REPOSITORY / "examples/plugins", made.root / "examples/plugins")
    (made.root / "test.yaml").write_text(yaml.safe_dump(OVERLAY))
    made.snakemake(*TARGETS)
    return made


def records(clone):
    return [json.loads(path.read_text()) for path in clone.root.glob("results/runs/*/run.json")]


def numbers(clone):
    """What decides the results of each run of the plan as it is now, by the run's id."""
    script = (
        "import json; from ngo.pipeline.config import read_config; "
        "from ngo.pipeline.plan import plan; "
        "from ngo.training.results_version import results_version; "
        "runs = plan(read_config(['config/config.yaml', 'test.yaml'])).runs; "
        "print(json.dumps({name: results_version(spec) for name, spec in runs.items()}))"
    )
    return json.loads(running.finished(clone.module_script(script)).splitlines()[-1])


def test_every_plugin_is_used_and_recorded(clone):
    tables = {
        name: pd.read_parquet(clone.root / f"results/test/metrics/{name}.parquet")
        for name in ("mine", "svm")
    }
    mine = tables["mine"]
    assert mine["run"].nunique() == RUNS
    assert set(mine["topology"]) == {"ring", "cliques", "de_bruijn", "rotating_partners"}
    assert set(mine["method"]) == {"gossip", "push_diging", "slowmo", "ngo"}
    assert sorted(mine["beta1"].dropna().unique()) == [0.8, 0.9]
    assert set(mine["coupling"].dropna()) == {"power", "bounded_confidence"}
    assert tables["svm"]["task"].unique().tolist() == ["hinge"]
    for table in tables.values():
        last = table[table["step"] == table["step"].max()]
        columns = ["consensus_loss", "consensus_accuracy", "workers_loss_mean", "V"]
        assert last[columns].notna().all(axis=None)
        first = table[table["step"] == 0]["consensus_loss"].iloc[0]
        assert (last["consensus_loss"] < first).all()
    hashes = [
        {
            "file": name.rpartition("/")[2],
            "sha256": hashlib.sha256((clone.root / name).read_bytes()).hexdigest(),
        }
        for name in EXAMPLES
    ]
    assert len(hashes) == 11
    assert [record["plugins"] for record in records(clone)] == [hashes] * (RUNS + 1)


def test_the_tables_of_measurements(clone):
    table = pd.read_parquet(clone.root / DISAGREEMENT)
    assert len(table) == RUNS * 2 * 4  # runs, snapshots, workers
    assert (table[table["step"] == 0]["distance"] == 0).all()
    trained = table[table["step"] > 0]
    # SlowMo's workers are equal after step 15, a third one.
    assert ((trained["distance"] == 0) == trained["run"].str.contains("slowmo")).all()
    degrees = pd.read_parquet(clone.root / "results/test/metrics/spectra_tableS1.parquet")
    found = degrees.set_index(["topology", "n"])["degree"]
    assert (found["ring", 16], found["cliques", 16]) == (2, 3.5)


def test_a_second_time_nothing_is_to_be_done(clone):
    assert "Nothing to be done" in clone.snakemake(*TARGETS)


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("cliques", lambda spec: spec["topology"] == "cliques"),
        ("csv_data", lambda spec: True),
        ("disagreement", lambda spec: False),
    ],
)
def test_a_changed_plugin_changes_the_runs_that_use_it(clone, name, uses):
    before = numbers(clone)
    with clone.changed(f"examples/plugins/{name}.py", "\n", "\n\n"):
        after = numbers(clone)
    expected = {record["id"] for record in records(clone) if uses(record["spec"])}
    assert {run for run in before if after[run] != before[run]} == expected


def svm(spec):
    return spec["model"] == "linear_svm"


def test_an_archive_carries_the_plugins_and_is_rebuilt_with_them(clone, tmp_path):
    configs = ("--config", "config/config.yaml", "--config", "test.yaml")
    clone.ngo("archive", "tableS1", *configs, "--out", str(tmp_path / "shipped.tar"))
    other = Clone(tmp_path / "ngo")
    assert not (other.root / "examples").exists()
    other.ngo("rebuild", str(tmp_path / "shipped.tar"), code=2)
    assert not list(other.root.glob("results/shipped/test-*"))
    other.ngo("rebuild", str(tmp_path / "shipped.tar"), "--trust-plugins")
    (shipped,) = other.root.glob("results/shipped/test-*")
    for name in EXAMPLES:
        assert (shipped / name).read_bytes() == (clone.root / name).read_bytes()
    table = "results/test/tables/tableS1.csv"
    assert (shipped / table).read_bytes() == (clone.root / table).read_bytes()
    assert "cliques" in (shipped / table).read_text()
