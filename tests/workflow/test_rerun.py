"""What runs again after a change, as Snakemake plans it."""

import os
import random
import re
import shutil

import pytest
from clone import Clone, assert_one_line, without_date

TARGETS = ("table1", "tableS1", "figS2")
RUNS = 2 * 3  # seeds × combinations
NUMBER = ("src/ngo/training/results_version.py", "RESULTS_VERSION = 1", "RESULTS_VERSION = 2")
JOB = "results/test/jobs/table1-tiny.parquet"
TABLE = "results/test/metrics/table1.parquet"


def planned(clone: Clone) -> dict[str, int]:
    return clone.planned(*TARGETS)


def test_file_dates_rerun_nothing(made, copy):
    assert planned(copy) == {}
    paths = [path for path in copy.root.rglob("*") if path.is_file()]
    for path in paths:
        when = random.Random(str(path)).randrange(10**9)
        os.utime(path, (when, when))
    assert planned(copy) == {}


def test_results_without_snakemakes_records_are_a_line_and_nothing_is_trained_again(copy):
    before = {path: path.read_bytes() for path in copy.root.glob("results/test/tables/*")}
    trained = copy.trained()
    shutil.rmtree(copy.root / ".snakemake")
    assert_one_line(copy.snakemake(*TARGETS, code=1), "run once with --forceall")
    copy.snakemake(*TARGETS, "--forceall")
    assert copy.trained() == trained
    assert {path: path.read_bytes() for path in before} == before
    assert planned(copy) == {}


DRAWN = {"figS2": 1, "table1": 1, "tableS1": 1}
JOINED = {"aggregate": 1, "classes": 1, **DRAWN}


@pytest.mark.parametrize(
    ("name", "old", "new", "jobs"),
    [
        # A number.
        (*NUMBER, {"partition": 1, "train": 1, "measure": 1, **JOINED}),
        ("src/ngo/gossip/topologies/static.py", '@topology("complete"',
         '@topology("complete", version=2', {"train": 1, "aggregate": 1, "measure": 1, **DRAWN}),
        # What goes by numbers is not read.
        ("src/ngo/engine/population.py", "zeros_like(self.X)", "zeros_like(self.X) * 1", {}),
        ("src/ngo/gossip/topologies/static.py", "def complete", "# All.\ndef complete", {}),
        # A byte of what measures, draws and judges.
        ("src/ngo/measures/spectra.py", "CONNECTED = 1e-9", "CONNECTED = 2e-9",
         {"measure": 1, "tableS1": 1}),
        ("src/ngo/measures/sharpness.py", "CHUNK = 250", "CHUNK = 200", {}),
        ("src/ngo/gossip/bounds.py", "import np", "import np  # heavy",
         {"measure": 1, **JOINED}),
        ("src/ngo/printing.py", '{"√": ', '{"ß": "s", "√": ', DRAWN),
        ("config/reference/table1_classification.csv", "62.30", "62.31", {"table1": 1}),
        ("notebooks/table1.ipynb", '"Table 1. ', '"The first table. ', {"table1": 1}),
        ("test.yaml", "draws: 2", "draws: 3", {"measure": 1, "tableS1": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) and "/" in value else "",
)  # fmt: skip
def test_a_change_reruns_what_depends_on_it(made, name, old, new, jobs):
    with made.changed(name, old, new):
        assert planned(made) == jobs


def test_a_number_trains_again_also_after_an_interruption(copy):
    trained = copy.trained()
    with copy.changed(*NUMBER):
        copy.snakemake(JOB)
        again = copy.trained()
        assert len(again) == RUNS
        assert not again & trained
        assert "train" not in planned(copy)
        copy.snakemake(*TARGETS)
        assert copy.trained() == again
        assert planned(copy) == {}


def test_an_added_seed_trains_itself_alone(copy):
    trained = copy.trained()
    with copy.changed(*SEED):
        copy.snakemake(*TARGETS)
    more = copy.trained()
    assert trained < more
    assert len(more) == len(trained) + 3
    assert planned(copy)["train"] == 1  # the table of the job without the seed
    copy.snakemake(*TARGETS)
    assert copy.trained() == more


def flipped(content: bytes) -> bytes:
    """The content of a file with another bit in the middle."""
    bad = bytearray(content)
    bad[len(bad) // 2] ^= 8
    return bytes(bad)


def test_damaged_results_are_made_again_with_the_same_bytes(copy):
    """Each when it is read: the first command names and removes it, the second makes it."""
    for path, target in (
        (JOB, TABLE),
        (TABLE, "table1"),
        ("results/test/metrics/spectra_tableS1.parquet", "tableS1"),
        ("results/test/partitions/tiny.parquet", "results/test/metrics/classes_figS2.parquet"),
    ):  # fmt: skip
        trained, content = copy.trained(), without_date(copy.root / path)
        (copy.root / path).write_bytes(flipped((copy.root / path).read_bytes()))
        out = copy.snakemake(target, code=1, within=120)
        gone = "It is removed, and made again when it is needed."
        assert re.search(f"ngo: table: '{path}' is damaged: .* {gone}", out), out
        assert not (copy.root / path).exists()
        copy.snakemake(target)
        assert without_date(copy.root / path) == content
        assert copy.trained() == trained
    run = sorted(copy.root.glob("results/runs/*"))[0]
    content = (run / "metrics.parquet").read_bytes()
    (run / "metrics.parquet").write_bytes(flipped(content))
    (copy.root / JOB).unlink()
    copy.snakemake(JOB)
    assert (run / "metrics.parquet").read_bytes() == content
    assert len(copy.trained() - trained) == 1
    assert planned(copy) == {}


CONFIGS = ("--config", "config/config.yaml", "--config", "test.yaml")
SEED = ("test.yaml", "seeds:\n- 0\n- 1\n", "seeds:\n- 0\n- 1\n- 2\n")


def files(clone: Clone) -> dict[str, bytes]:
    """The files of runs."""
    paths = clone.root.glob("results/runs/*/*.*")
    return {str(path.relative_to(clone.root)): path.read_bytes() for path in paths}


def test_a_campaign_that_stops_goes_on_from_its_archive(copy):
    copy.ngo("archive", *CONFIGS, "--finished", "--out", "part.tar")
    before = files(copy)
    for name in ("results", ".snakemake", "logs"):
        shutil.rmtree(copy.root / name)
    assert f"{RUNS} runs restored; " in copy.ngo("restore", "part.tar")
    assert files(copy) == before
    restored = copy.trained()
    copy.snakemake(TABLE)
    assert copy.trained() == restored
    with copy.changed(*NUMBER):
        out = copy.ngo("restore", "part.tar")
        assert f"0 runs restored, {RUNS} of another results version; " in out
    with copy.changed(*SEED):
        copy.snakemake(TABLE)
        assert restored < copy.trained()
        assert len(copy.trained()) == RUNS + 3
        out = copy.ngo("archive", *CONFIGS, "--finished", "--out", "more.tar")
        assert f"packed: {RUNS + 3}, " in out
        assert f"0 runs restored, {RUNS + 3} here already; " in copy.ngo("restore", "more.tar")
        assert copy.planned(TABLE) == {}
