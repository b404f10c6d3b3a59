"""Tidy tables of metrics and of partitions."""

import io
import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from ngo.analysis import results
from ngo.common.columns import write_columns
from ngo.common.registry import UserError


def test_aggregate_joins_runs_and_their_facts(tmp_path):
    for run, seed in (("b", 1), ("a", 0)):
        facts = {"run": run, "seed": seed, "topology": "ring", "u": None}
        write_columns(
            tmp_path / run,
            {
                "step": [0, 5],
                "V": [0.0, 1.5],
                "diverged": [False, run == "b"],
                "seconds": [0.1, 0.2],  # as older versions had them
            },
            facts,
        )
    table = results.aggregate([tmp_path / "b", tmp_path / "a"])
    assert table["run"].tolist() == ["a", "a", "b", "b"]
    assert table["step"].tolist() == [0, 5, 0, 5]
    assert table["diverged"].tolist() == [False, False, False, True]
    assert table["u"].isna().all()
    assert "seconds" not in table
    (tmp_path / "again").write_bytes((tmp_path / "a").read_bytes())
    for second in ("a", "again"):
        files = [tmp_path / "a", tmp_path / "b", tmp_path / second]
        with pytest.raises(UserError, match=rf"the run a is in '.*/a' and in '.*/{second}'; name"):
            results.aggregate(files)


def test_files_of_others_are_refused(tmp_path):
    def refused(name, reason):
        for read, key in ((results.aggregate, "metrics"), (results.class_counts, "partitions")):
            with pytest.raises(UserError, match=f"{key}: .*{name}' is the wrong file.*{reason}"):
                read([tmp_path / name])

    (tmp_path / "text").write_text("no parquet")
    refused("text", "Parquet magic bytes")
    pd.DataFrame({"step": [0]}).to_parquet(tmp_path / "foreign")
    refused("foreign", "ngo did not write it")
    write_columns(tmp_path / "ours", {"x": [0]}, {"x": 1})
    refused("ours", "its metadata has no '(run|dataset)'")
    write_columns(tmp_path / "half", {"x": [0]}, {"run": "a", "dataset": "digits", "workers": 2})
    refused("half", "it has no column '(step|worker)'")
    facts, table = {"dataset": "sine", "workers": 1}, {"worker": [0], "sample": [0], "label": [0]}
    write_columns(tmp_path / "sine", table, facts)
    with pytest.raises(UserError, match="partitions: .*sine' partitions data without classes"):
        results.class_counts([tmp_path / "sine"])


def test_no_files_make_no_table():
    with pytest.raises(UserError, match="metrics: no files given"):
        results.aggregate([])


def test_a_table_is_written_as_parquet(tmp_path):
    table = pd.DataFrame({"run": ["a"], "V": [0.5]})
    results.write(table, tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), table)


def test_classes_are_counted_with_zeros(tmp_path):
    table = {"worker": [0, 0, 1], "sample": [0, 1, 2], "label": [3, 3, 9]}
    write_columns(tmp_path / "p", table, {"dataset": "digits", "workers": 2})
    counts = results.class_counts([tmp_path / "p"]).set_index(["worker", "label"])["samples"]
    assert len(counts) == 2 * 10
    assert (counts[0, 3], counts[1, 9], counts.sum()) == (2, 1, 3)


def made_with(folder, name, **versions):
    """The metrics of a run that was made with these versions; without any, it has no record."""
    path = folder / name / "metrics.parquet"
    path.parent.mkdir()
    write_columns(path, {"step": [0, 5], "diverged": [False, False]}, {"run": name, "seed": 0})
    if versions:
        path.with_name("run.json").write_text(json.dumps({"versions": {"ngo": "1", **versions}}))
    return path


def test_runs_that_different_versions_made_are_refused_or_told_apart(tmp_path):
    files = [
        made_with(tmp_path, "a", torch="2.14.0+cu1", numpy="2.0"),
        made_with(tmp_path, "b", torch="2.15.0", numpy="2.0"),
        made_with(tmp_path, "c", torch="2.15.0+cpu"),
    ]
    with pytest.raises(UserError) as told:
        results.aggregate(files)
    assert str(told.value) == (
        "metrics: different versions made the runs: torch 2.15.0 (2 runs), torch 2.14.0 (1 run); "
        "train them again with one version, or have tables say it (mixed_versions: tell in the "
        "config)."
    )
    table = results.aggregate(files, "tell")
    assert table.groupby("run")["versions"].unique().str[0].to_dict() == {
        "a": "torch 2.14.0", "b": "torch 2.15.0", "c": "torch 2.15.0"
    }  # fmt: skip


@pytest.mark.parametrize("mixed", ["refuse", "tell"])
def test_runs_of_one_version_or_of_unknown_ones_have_no_column_of_versions(tmp_path, mixed):
    files = [
        made_with(tmp_path, "a", torch="2.15.0"),
        made_with(tmp_path, "b", torch="2.15.0+cpu"),
        made_with(tmp_path, "c"),
    ]
    (tmp_path / "d").mkdir()
    damaged = made_with(tmp_path / "d", "d")
    damaged.with_name("run.json").write_text("[1")
    assert "versions" not in results.aggregate([*files, damaged], mixed)


def test_a_measured_table_says_when_it_was_started_in_no_column(tmp_path):
    table = pd.DataFrame({"x": [1.5, 2.5], "name": ["a", None]})
    path = tmp_path / "t.parquet"
    results.write(table, path)
    assert results.started(path) is None
    results.write(table, path, datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC))
    assert results.started(path) == "2026-01-02T03:04:05+00:00"
    assert list(pd.read_parquet(path)) == ["x", "name"]


def in_turn(runs):
    """The same table by pandas, one run after the other."""
    tables = [pd.DataFrame({**facts, **columns}) for columns, facts, _ in runs]
    names = list(dict.fromkeys(name for table in tables for name in table))
    whole = pd.concat([table.dropna(axis=1, how="all") for table in tables], ignore_index=True)
    return whole.reindex(columns=names).sort_values(["run", "step"], ignore_index=True)


def test_runs_of_different_columns_and_facts_are_joined_as_pandas_does():
    def run(name, columns, **facts):
        known = {"step": np.array([5, 0]), "diverged": np.array([False, True])}
        return {**known, **columns}, {"run": name, **facts}, {}

    counts, losses = np.array([1, 2]), np.array([0.5, np.nan])
    runs = [
        run("b", {"loss": losses}, seed=1, p=0.75, of=None, graph="ring", empty=None),
        run("a", {"count": counts, "met": counts > 1}, seed=2, p=1, of=3, empty=None),
        run("c", {"loss": losses * np.nan, "more": counts}, seed=3, p=1, graph=None, exact=True),
    ]
    for some in (runs, runs[:1], runs[1:], runs[::-1]):
        files = [io.BytesIO(), io.BytesIO()]
        for file, table in zip(files, (results.joined(some), in_turn(some)), strict=True):
            table.to_parquet(file, index=False)
        assert files[0].getvalue() == files[1].getvalue()
    table = results.joined(runs)
    assert list(table["run"]) == ["a", "a", "b", "b", "c", "c"]
    assert list(table["step"]) == [0, 5] * 3
    assert list(table["count"].dropna()) == [2, 1]
