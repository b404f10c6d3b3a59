"""A campaign that stops and goes on from its archive, as Snakemake plans it."""

import shutil

import pytest
import yaml
from clone import OVERLAY, Clone, assert_one_line

COMPARE = [{"method": ["gossip", "ngo"], "topology": "ring"}]
CONFIGS = ("--config", "config/config.yaml", "--config", "config/test.yaml")
TARGET = "results/test/metrics/table1.parquet"
NUMBER = ("src/ngo/training/results_version.py", "RESULTS_VERSION = 1", "RESULTS_VERSION = 2")


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
    """The files of runs."""
    found = clone.root.glob("results/runs/*/*.*")
    return {str(path.relative_to(clone.root)): path.read_bytes() for path in found}


def test_restored_runs_are_not_trained_again(elsewhere):
    clone, made = elsewhere
    out = clone.ngo("restore", "part.tar")
    assert "4 runs restored; " in out
    assert files(clone) == made
    restored = clone.trained()
    clone.snakemake(TARGET, config="config/test.yaml")
    assert clone.trained() == restored
    with clone.changed(*NUMBER):
        out = clone.ngo("restore", "part.tar")
        assert "0 runs restored, 4 of another results version; " in out
    write(clone, [0, 1, 2])
    clone.snakemake(TARGET, config="config/test.yaml")
    assert restored < clone.trained()
    assert len(clone.trained()) == 6
    out = clone.ngo("archive", *CONFIGS, "--finished", "--out", "more.tar")
    assert "packed: 6, " in out
    assert "0 runs restored, 6 here already; " in clone.ngo("restore", "more.tar")
    assert clone.planned(TARGET, config="config/test.yaml") == {}


def test_a_damaged_archive_restores_nothing(elsewhere):
    clone, _ = elsewhere
    before = files(clone)
    content = (clone.root / "part.tar").read_bytes()
    (clone.root / "broken.tar").write_bytes(content[:-1])
    assert_one_line(clone.ngo("restore", "broken.tar", code=2), r"broken.tar' is refused: ")
    assert files(clone) == before
