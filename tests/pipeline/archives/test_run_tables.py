"""The tidy tables of experiments, joined from the runs in an archive."""

import io

import pandas as pd
import pytest

from ngo.analysis.universes import Universe, in_universes
from ngo.common.registry import UserError
from ngo.pipeline.archives import limits
from ngo.pipeline.archives.archive import Archive, read_archive
from ngo.pipeline.archives.pack import with_runs
from ngo.pipeline.archives.unpack import absent_run, joined_tables, needed_tables, relabelled


@pytest.fixture
def opened(shipped, there):
    """The archive of two figures, and the plan."""
    return read_archive(shipped[0]), shipped[2]


def test_tables_of_its_runs_are_refused_if_one_is_absent_or_if_they_are_too_large(
    opened, monkeypatch
):
    read, planned = opened
    names = needed_tables(read, planned)
    assert names == ["figS6"]
    assert absent_run(read, planned, names) is None
    first, *others = read.runs.values()
    less = Archive("a.tar", with_runs(read.members, read.about, others))
    with pytest.raises(UserError, match=f"'a.tar' is refused: the run {first.id} is not in it"):
        dict(joined_tables(less, planned, names))
    assert absent_run(less, planned, names) == first.id
    monkeypatch.setattr(limits, "JOINED", 1000)
    with pytest.raises(UserError, match="is refused: the tables of its runs are too large"):
        dict(joined_tables(read, planned, names))


def test_the_rows_of_runs_in_several_universes_are_repeated_and_count_for_the_limit(
    opened, monkeypatch
):
    read, planned = opened
    ((_, content),) = joined_tables(read, planned, ["figS6"])
    table = pd.read_parquet(io.BytesIO(content))
    universes = [Universe(k, {"lr": 0.1 * k}, tuple(read.runs)) for k in range(50)]
    monkeypatch.setitem(planned.universes, "figS6", universes)
    ((name, content),) = joined_tables(read, planned, ["spectra_tableS1", "figS6"])
    repeated = pd.read_parquet(io.BytesIO(content))
    assert (name, len(repeated)) == ("figS6", 50 * len(table))
    assert repeated.equals(in_universes(table, universes))
    monkeypatch.setattr(limits, "JOINED", 25 * 8 * table.size)
    with pytest.raises(UserError, match="is refused: the tables of its runs are too large"):
        dict(joined_tables(read, planned, ["figS6"]))


def test_texts_count_for_the_limit_in_each_row(opened, monkeypatch):
    read, planned = opened
    run = read.runs[min(read.runs)]
    run.record["spec"]["of_a_plugin"] = "a" * 10**6
    monkeypatch.setattr(limits, "JOINED", 10**6)
    with pytest.raises(UserError, match="is refused: the tables of its runs are too large"):
        dict(joined_tables(read, planned, ["figS6"]))
    run.record["spec"]["of_a_plugin"] = "a"
    assert dict(joined_tables(read, planned, ["figS6"]))


def test_a_run_under_the_name_of_another_is_refused(opened):
    read, planned = opened
    assert relabelled(read, planned) is None
    name = min(read.runs)
    read.runs[name].record["spec"]["workers"] += 1
    with pytest.raises(UserError, match=f"is refused: {name}: its record has workers "):
        dict(joined_tables(read, planned, ["figS6"]))
    assert relabelled(read, planned).startswith(f"{name}: its record has workers ")


@pytest.mark.parametrize("value", [10**23, [[1], "a"], "\ud800"])
def test_runs_with_values_that_no_table_has_are_refused(opened, value):
    read, planned = opened
    for run in read.runs.values():
        run.record["spec"]["of_a_plugin"] = value if run.id == min(read.runs) else None
    with pytest.raises(UserError, match="is refused: its runs can't be joined"):
        dict(joined_tables(read, planned, ["figS6"]))
