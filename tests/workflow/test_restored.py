"""A campaign that stops and goes on from its archive, as Snakemake plans it."""

import shutil

import pytest
import yaml
from clone import OVERLAY, Clone, assert_one_line

COMPARE = [{"method": ["gossip", "ngo"], "topology": "ring"}]
CONFIGS = ("--config", "config/config.yaml", "--config", "config/test.yaml")
TARGET = "results/test/metrics/table1.parquet"
SLOWER = ("src/ngo/engine/population.py", "zeros_like(self.X)", "zeros_like(self.X) * 1")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A clone with nothing but the archive of four runs, and the files of these runs."""
    clone = Clone(tmp_path_factory.mktemp("elsewhere") / "ngo")
    write(clone, [0, 1])
    clone.snakemake(TARGET, config="config/test.yaml")
    clone.ngo("archive", *CONFIGS, "--finished", "--out", "part.tar")
    made = files(clone)
    for name in ("results", ".snakemake", "logs"):
        shutil.rmtree(clone.root / name)
    return clone, made


def write(clone, seeds):
    training = {"table1": {**OVERLAY["training"]["table1"], "compare": COMPARE}}
    values = {**OVERLAY, "seeds": seeds, "training": training}
    (clone.root / "config/test.yaml").write_text(yaml.safe_dump(values))


def files(clone):
    """The files of runs, partitions and data sets."""
    found = [*clone.root.glob("results/runs/*/*.*"), *clone.root.glob("results/*/*.parquet")]
    found += clone.root.glob("results/data/*.json")
    return {str(path.relative_to(clone.root)): path.read_bytes() for path in found}


def planned(clone):
    return clone.planned(TARGET, config="config/test.yaml")


def test_restored_runs_are_not_trained_again(elsewhere):
    clone, made = elsewhere
    out = clone.ngo("restore", "part.tar")
    assert "4 runs restored; " in out
    assert files(clone) == made
    assert planned(clone) == {"aggregate": 1}
    with clone.changed(*SLOWER):  # Snakemake has records of them, with their code
        assert planned(clone) == {"train": 4, "aggregate": 1}
        assert "0 runs restored, 4 of other code; " in clone.ngo("restore", "part.tar")
    write(clone, [0, 1, 2])
    assert planned(clone) == {"partition": 1, "train": 2, "aggregate": 1}
    clone.snakemake(TARGET, config="config/test.yaml")
    out = clone.ngo("archive", *CONFIGS, "--finished", "--out", "more.tar")
    assert "packed: 6, " in out
    assert "0 runs restored, 6 here already; " in clone.ngo("restore", "more.tar")
    assert planned(clone) == {}


def test_a_damaged_archive_restores_nothing(elsewhere):
    clone, _ = elsewhere
    before = files(clone)
    content = (clone.root / "part.tar").read_bytes()
    (clone.root / "broken.tar").write_bytes(content[:-1])
    assert_one_line(clone.ngo("restore", "broken.tar", code=2), r"broken.tar' is refused: ")
    assert files(clone) == before
