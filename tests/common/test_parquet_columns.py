import os
import random
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import mistake_of, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from running import finished, start
from runs import digits_run

from ngo.analysis import table_files
from ngo.common import memory
from ngo.common.parquet_columns import read_columns, write_columns
from ngo.training import partition_file, tidy
from ngo.training.tidy import Damaged, aggregate, read_tidy, write_tidy
from verdicts.files import CHECKSUMS, TAG, opened
from verdicts.registry import UserError
from verdicts.table import read_table

COLUMNS = {"step": np.arange(40), "loss": np.linspace(2, 1, 40), "diverged": np.arange(40) > 9}
TIDY = pa.table({"run": ["a"] * 40, **COLUMNS})
KINDS = {
    "a run's": lambda path: write_columns(path, {"run": "a", "p": 0.95}, [COLUMNS]),
    "partitions": lambda path: write_columns(path, {"partitions": [1, 2]}, [COLUMNS, COLUMNS]),
    "tidy": lambda path: write_tidy(TIDY, path),
    "measured": lambda path: table_files.write(TIDY.to_pandas(), path),
}
SOME = {
    "loss": [0.5, np.nan], "empty": [np.nan, np.nan], "count": [1, 2], "met": [True, False],
    "V": [0.0, -0.0],
}  # fmt: skip
FACTS = {
    "p": [1, 0.75, None], "u": [None], "workers": [4, 16], "graph": ["ring", "é", None],
    "exact": [True, None], "delay": [None, 3],
}  # fmt: skip
RUNS = st.tuples(
    st.sets(st.sampled_from(sorted(SOME))),
    st.fixed_dictionaries({}, optional={k: st.sampled_from(each) for k, each in FACTS.items()}),
    st.sampled_from("abc"),
)


def test_columns_are_read_as_written_and_a_group_of_rows_alone(tmp_path):
    table = {
        "i": np.arange(-5, 5),
        "f": np.array([0.1, np.nan, np.inf]),
        "b": np.array([True] * 3 + [False] * 8),
        "none": np.array([], dtype=float),
    }
    for name, values in table.items():
        write_columns(tmp_path / name, {"x": [1, "é"]}, [{name: values}])
        back, facts = read_columns(tmp_path / name, "test")
        assert facts == {"x": [1, "é"]}
        assert back[name].dtype.kind == values.dtype.kind
        np.testing.assert_array_equal(back[name], values)
        written = pd.read_parquet(tmp_path / name)
        pd.testing.assert_frame_equal(written, pd.DataFrame({name: values}))
    groups = [{"i": [k] * (k + 1), "b": [k % 2 == 0] * (k + 1)} for k in range(12)]
    path = tmp_path / "groups"
    write_columns(path, {"names": list("abcdefghijkl")}, iter(groups))
    for k, name in enumerate("abcdefghijkl"):
        found, facts = read_columns(path, "k", group=lambda facts, n=name: facts["names"].index(n))
        assert {key: column.tolist() for key, column in found.items()} == groups[k]
        assert facts["names"][k] == name
    whole, _ = read_columns(path, "test")
    assert whole["i"].tolist() == [k for k in range(12) for _ in range(k + 1)]
    assert whole["b"].tolist() == [k % 2 == 0 for k in range(12) for _ in range(k + 1)]
    with pytest.raises(UserError, match="test: '.*groups' is the wrong file, or damaged: "):
        read_columns(path, "test", group=lambda facts: 12)


def refusal(path, names=(), about=()):
    told = mistake_of(read_columns, path, "key", names, about)
    start = f"key: {str(path)!r} is the wrong file, or damaged: "
    assert told.startswith(start)
    return told.removeprefix(start)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("no parquet")
    assert "Parquet magic bytes" in refusal(tmp_path / "text")
    pd.DataFrame({"step": [0]}).to_parquet(tmp_path / "foreign")
    assert refusal(tmp_path / "foreign") == "ngo did not write it."
    write_columns(tmp_path / "ours", {"run": 1}, [{"x": [0]}])
    content = (tmp_path / "ours").read_bytes()
    (tmp_path / "half").write_bytes(content[: len(content) // 2])
    assert refusal(tmp_path / "half")
    assert refusal(tmp_path / "ours", about=["seed"]) == "its metadata has no 'seed'."
    assert refusal(tmp_path / "ours", names=["step"]) == "it has no column 'step'."
    read_columns(tmp_path / "ours", "key", ["x"], ["run"])
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    parquet.write_table(twice.replace_schema_metadata({"ngo": "{}"}), tmp_path / "twice")
    assert refusal(tmp_path / "twice", ["x"]) == "it has two columns of one name."
    deep = pa.table({"x": [1]}).replace_schema_metadata({"ngo": "[" * 100_000})
    parquet.write_table(deep, tmp_path / "deep")
    assert "recursion" in refusal(tmp_path / "deep")


@pytest.mark.timeout(60)
def test_what_a_stranger_may_send_is_refused_before_it_takes_memory(tmp_path, monkeypatch):
    write_columns(tmp_path / "zeros", {}, [{"x": np.zeros(10**5)}])
    assert (tmp_path / "zeros").stat().st_size < 10**4
    monkeypatch.setattr(memory, "ALWAYS", 10**5)
    monkeypatch.setattr(memory, "RATIO", 10)
    with pytest.raises(UserError, match="key: '.*zeros' has .* declares a content of 800000;"):
        read_columns(tmp_path / "zeros", "key")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="^key: '.*pipe' can't be read: it is not a regular file"):
        read_columns(tmp_path / "pipe", "key")


# A table with a wrong bit is refused, or read as it was: by each reader, of each kind of table.


def read_by_all(path):
    """What each reader makes of a file; None where it refuses it."""
    return [
        result(lambda: read_tidy(path).to_pandas().to_csv()),
        result(lambda: read_table(path).to_csv()),
        result(lambda: [str(each) for each in read_columns(path, "k", COLUMNS)]),
        result(lambda: str(read_columns(path, "k", group=lambda facts: 0)[0])),
    ]


def result(read):
    try:
        return read()
    except UserError:
        return None


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_refused_or_changes_nothing(kind, tmp_path):
    path = tmp_path / "t.parquet"
    KINDS[kind](path)
    good, draws = path.read_bytes(), random.Random(kind)
    whole, tag = read_by_all(path), good.index(TAG)
    assert sum(each is not None for each in whole) >= 2
    footer = range(tag, len(good))
    places = [draws.randrange(len(good)) for _ in range(60)] + draws.sample(footer, 60)
    for place in [*places, 0, tag, tag + len(TAG), *range(len(good) - 8, len(good))]:
        bad = bytearray(good)
        bad[place] ^= 1 << draws.randrange(8)
        path.write_bytes(bad)
        found = read_by_all(path)
        in_tag = tag <= place < tag + len(TAG)
        assert found == (whole if in_tag else [None] * len(whole)), place


def test_readers_check_pages_remove_nothing_and_tell_damage_from_errors(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    pd.DataFrame(COLUMNS).to_parquet(path, **CHECKSUMS, compression=None)
    good = path.read_bytes()
    assert opened(good).read().equals(parquet.read_table(path))
    at = good.index(np.float64(2).tobytes())
    path.write_bytes(good[:at] + b"\1" + good[at + 1 :])
    with pytest.raises(Damaged, match="table: '.*' is damaged: .*could not verify page integrity"):
        read_tidy(path)
    write_tidy(TIDY, tmp_path / "good.parquet")
    content = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "mine.csv").write_text("run,step\na,1\n")
    (tmp_path / "cut.parquet").write_bytes(content[:-3])
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "none.parquet").mkdir()
    before = sorted(tmp_path.iterdir())
    for name, line in {
        "mine.csv": "is no Parquet file; plots.tidy takes the table that pandas.read_csv reads.",
        "empty.parquet": "is no Parquet file; plots.tidy takes the table that pandas",
        "cut.parquet": "is damaged: ",
        "none.parquet": "can't be read: it is not a regular file.",
        "other.parquet": "does not exist.",
    }.items():
        refused(f"^table: '.*{name}' {line}", read_tidy, tmp_path / name)
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda path: os.listdir(path / "file"))
    for read in (read_tidy, read_table, lambda path: read_columns(path, "k")):
        with pytest.raises(UserError, match="can't be read: Not a directory") as told:
            read(tmp_path / "good.parquet")
        assert not isinstance(told.value, Damaged)
    assert sorted(tmp_path.iterdir()) == before


def test_aggregate_joins_runs_and_their_facts(tmp_path):
    for run, seed in (("b", 1), ("a", 0)):
        facts = {"run": run, "seed": seed, "topology": "ring", "u": None}
        columns = {"step": [0, 5], "V": [0.0, 1.5], "diverged": [False, run == "b"]}
        write_columns(tmp_path / run, facts, [columns])
    table = aggregate([tmp_path / "b", tmp_path / "a"]).to_pandas()
    assert table["run"].tolist() == ["a", "a", "b", "b"]
    assert table["step"].tolist() == [0, 5, 0, 5]
    assert table["diverged"].tolist() == [False, False, False, True]
    assert table["u"].isna().all()
    (tmp_path / "again").write_bytes((tmp_path / "a").read_bytes())
    for second in ("a", "again"):
        files = [tmp_path / "a", tmp_path / "b", tmp_path / second]
        refused(rf"the run a is in '.*/a' and in '.*/{second}'; name", aggregate, files)


@settings(max_examples=12)
@given(st.lists(RUNS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_a_table_has_the_same_bytes_however_its_runs_are_divided(runs, draws):
    with tempfile.TemporaryDirectory() as name:
        folder, parts = Path(name), {}
        for k, (columns, facts, part) in enumerate(runs):
            known = {"step": [0, 5], "diverged": [False, True]}
            path = folder / f"run{k}"
            write_columns(path, {"run": k, **facts}, [{**known, **{c: SOME[c] for c in columns}}])
            parts.setdefault(part, []).append(path)
        write_tidy(aggregate([each for part in parts.values() for each in part]), folder / "whole")
        for part, files in parts.items():
            write_tidy(aggregate(files), folder / part)
        some = [folder / part for part in parts]  # c's runs stay as they are
        if "c" in parts:
            some = [*(each for each in some if each.name != "c"), *parts["c"]]
        draws.shuffle(some)
        more = [*some, *(each for each in some if each.name in ("a", "b"))]  # a table comes twice
        for files in (some, more):
            write_tidy(aggregate(files), folder / "again")
            assert (folder / "again").read_bytes() == (folder / "whole").read_bytes()


READ = """
import os
from pathlib import Path
import numpy as np
import pandas
from ngo.analysis import table_files
from ngo.common.parquet_columns import read_columns, write_columns
from ngo.training.tidy import read_tidy
from verdicts.table import read_table
path = Path("of.parquet")
write_columns(path, {"run": "r"}, [{name: np.arange(9000.0) for name in "abcdefgh"}])
before = len(os.listdir("/proc/self/task"))
read_columns(path, "k")
read_table(path)
read_tidy(path)
table_files.started(path)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of threads")
def test_reading_a_table_starts_no_thread(tmp_path):
    """Threads of Arrow abort a process that ends while they do, after its work is done."""
    assert finished(start([sys.executable, "-c", READ], cwd=tmp_path)).strip() == "0"


def test_files_of_others_are_refused(tmp_path):
    def refused(name, *reasons):
        both = (tidy.aggregate, "metrics"), (table_files.class_counts, "partitions")
        for (read, key), reason in zip(both, 2 * reasons, strict=False):
            with pytest.raises(UserError, match=f"({key}|table): .*{name}' is .*{reason}"):
                read([tmp_path / name])

    (tmp_path / "text").write_text("no parquet")
    refused("text", "no Parquet file", "Parquet magic bytes")
    pd.DataFrame({"step": [0]}).to_parquet(tmp_path / "foreign")
    refused("foreign", "no metrics of runs", "ngo did not write it")
    write_columns(tmp_path / "ours", {"x": 1}, [{"x": [0]}])
    refused("ours", "its metadata has no '(run|partitions)'")
    write_columns(tmp_path / "half", {"run": "a", "partitions": []}, [{"x": [0]}])
    refused("half", "it has no column '(step|worker)'")
    facts, table = {"dataset": "sine", "workers": 1}, {"worker": [0], "sample": [0], "label": [0]}
    write_columns(tmp_path / "sine", {"partitions": [facts]}, [table])
    with pytest.raises(UserError, match="partitions: .*sine' partitions data without classes"):
        table_files.class_counts([tmp_path / "sine"])


def test_classes_are_counted_with_zeros_and_by_partition(tmp_path):
    table = {"worker": [0, 0, 1], "sample": [0, 1, 2], "label": [3, 3, 9]}
    write_columns(tmp_path / "p", {"partitions": [{"dataset": "digits", "workers": 2}]}, [table])
    counts = table_files.class_counts([tmp_path / "p"]).set_index(["worker", "label"])["samples"]
    assert len(counts) == 2 * 10
    assert (counts[0, 3], counts[1, 9], counts.sum()) == (2, 1, 3)
    specs = [digits_run(seed=seed) for seed in (5, 6, 7)]
    partition_file.write(tmp_path / "p", specs, tmp_path)
    assert set(table_files.class_counts([tmp_path / "p"])["seed"]) == {5, 6, 7}
    kept = table_files.class_counts([tmp_path / "p"], [each.partition_id for each in specs[1:]])
    assert set(kept["seed"]) == {6, 7}
    assert kept["samples"].sum() == 2 * 1437


def test_a_measured_table_says_when_it_was_started_in_no_column(tmp_path):
    table = pd.DataFrame({"x": [1.5, 2.5], "name": ["a", None]})
    path = tmp_path / "t.parquet"
    table_files.write(table, path)
    assert table_files.started(path) is None
    table_files.write(table, path, datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC))
    assert table_files.started(path) == "2026-01-02T03:04:05+00:00"
    assert list(pd.read_parquet(path)) == ["x", "name"]
