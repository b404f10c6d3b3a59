"""What runs again after a change, as Snakemake plans it."""

import json
import os
import random
import shutil
import time

import pytest
import yaml
from clone import OVERLAY, Clone, without_date

TARGETS = ("table1", "tableS1", "figS2")
COMPARE = [{"method": ["gossip", "ngo"], "topology": "ring"}, {"method": "centralized"}]
RUNS = 2 * 3  # two seeds
SLOWER = ("zeros_like(self.X)", "zeros_like(self.X) * 1")
EVERYTHING = {"train": RUNS, "aggregate": 1, "table1": 1}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A clone in which the targets have been made; tests leave it as it is."""
    clone = Clone(tmp_path_factory.mktemp("made") / "ngo")
    training = {"table1": {**OVERLAY["training"]["table1"], "compare": COMPARE}}
    (clone.root / "test.yaml").write_text(yaml.safe_dump({**OVERLAY, "training": training}))
    clone.snakemake(*TARGETS)
    return clone


def planned(clone: Clone) -> dict[str, int]:
    return clone.planned(*TARGETS)


@pytest.fixture
def copy(made, tmp_path):
    """A copy with other file dates."""
    shutil.copytree(made.root, tmp_path / "ngo", copy_function=shutil.copyfile)
    other = object.__new__(Clone)
    other.root = tmp_path / "ngo"
    return other


def test_file_dates_rerun_nothing(made, copy):
    assert planned(copy) == {}
    paths = [path for path in copy.root.rglob("*") if path.is_file()]
    for path in paths:
        when = random.Random(str(path)).randrange(10**9)
        os.utime(path, (when, when))
    assert planned(copy) == {}
    shutil.rmtree(copy.root / ".snakemake")  # as in a clone
    assert planned(copy) == {}


def test_comments_docstrings_and_new_entries_rerun_nothing(copy):
    package = copy.root / "src/ngo"
    for path in package.rglob("*.py"):
        text = path.read_text()
        path.write_text(text.replace('"""', '"""In other words: ', 1) + "\n# A comment.\n")
    for name in ("gossip/topologies/ring", "gossip/methods/centralized", "data/sets/digits"):
        path = package / f"{name}.py"
        if path.exists():
            text = path.read_text().replace(f'"{path.stem}"', '"another"')
            path.with_name("another.py").write_text(text)
    assert planned(copy) == {}


@pytest.mark.parametrize(
    ("name", "old", "new", "jobs"),
    [
        ("src/ngo/engine/population.py", *SLOWER, EVERYTHING),
        (
            "src/ngo/figures/latex.py",
            '    ord("√"): ',
            '    ord("ß"): \'ss\', ord("√"): ',
            {"figS2": 1, "table1": 1, "tableS1": 1},  # all files are saved by one function
        ),
        ("config/reference/table1_classification.csv", "62.30", "62.31", {"table1": 1}),
        ("papers/ngo/figures/table1.py", '"Table 1. ', '"The first table. ', {"table1": 1}),
        ("papers/ngo/figures/table1.py", "\nimport pandas", "\n# A comment.\nimport pandas", {}),
        ("workflow/rules/train.smk", "exec ngo train", "exec  ngo train", {}),
        ("test.yaml", "draws: 2", "draws: 3", {"measure": 1, "tableS1": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_reruns_what_depends_on_it(made, name, old, new, jobs):
    with made.changed(name, old, new):
        assert planned(made) == jobs


def test_what_is_made_from_a_retrained_run_is_made_also_after_an_interruption(copy):
    with copy.changed("src/ngo/engine/population.py", *SLOWER):
        runs = copy.root.glob("results/runs/*/run.json")
        copy.snakemake(*(str(path.relative_to(copy.root)) for path in runs))
        assert planned(copy) == {"aggregate": 1, "table1": 1}
        copy.snakemake("results/test/metrics/table1.parquet")
        assert planned(copy) == {"table1": 1}


def test_truncated_results_are_made_again_with_the_same_bytes(copy):
    """Those that a target needs: a finished table needs nothing."""
    truncated = [
        next(copy.root.glob(f"results/{pattern}"))
        for pattern in ("runs/*-s0-*/metrics.parquet", "runs/*-s0-*/run.json",
                        "partitions/*-s0-*", "data/*.json",
                        "test/metrics/spectra_tableS1.parquet", "test/metrics/table1.parquet")
    ]  # fmt: skip
    contents = {path: without_date(path) for path in truncated}
    for path in truncated:
        path.write_bytes(path.read_bytes()[:-10])
    shutil.rmtree(copy.root / "results/test/tables")
    out = copy.snakemake("table1", "tableS1")
    for path, content in contents.items():
        assert f"ngo: {path.relative_to(copy.root)} was damaged; it is removed." in out
        if path.name != "run.json":  # it has times
            assert without_date(path) == content
    assert json.loads(truncated[1].read_bytes())
    assert copy.planned("table1", "tableS1") == {}


def test_a_date_in_the_future_stops_no_job(copy):
    when = time.time() + 10**7
    os.utime(copy.root / "results/data/digits.json", (when, when))
    next(copy.root.glob("results/partitions/*")).unlink()
    next(copy.root.glob("results/runs/*/metrics.parquet")).unlink()
    (copy.root / "results/test/metrics/table1.parquet").unlink()
    out = copy.snakemake("results/test/metrics/table1.parquet")
    assert "clock skew" not in out
    assert os.path.getmtime(copy.root / "results/data/digits.json") == when
