"""An archive in which fields of a run have their former names."""

import io
import json
import logging
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from good_archive import good_archive
from small_archives import TABLE, in_parquet

from ngo.common import former
from ngo.common.registry import UserError
from ngo.pipeline.archives import unpack
from ngo.pipeline.archives.archive import ABOUT, archived_plan, read_archive, write_archive
from ngo.pipeline.archives.pack import with_runs
from ngo.pipeline.archives.runs import of_this_code, packed, read_run
from ngo.pipeline.archives.verify import Verification
from ngo.pipeline.paths import tidy_table
from ngo.training.tidy import joined

OLD = {"method": "protocol"}


def under_former_names(path):
    """The members of the archive at ``path`` as an earlier version would have written them."""
    archive = read_archive(path)
    members = dict(archive.members)
    runs = [
        replace(run, record={**run.record, "spec": with_old(run.record["spec"])})
        for run in archive.runs.values()
    ]
    for name in list(members):
        if name.endswith((".yaml", ".json", ".csv")) and not name.startswith("results/"):
            members[name] = members[name].replace(b"method", b"protocol")
    members |= packed(runs)
    table = joined([(run.columns, run.facts, run.record) for run in runs]).to_pandas()
    members[TABLE] = in_parquet(table.rename(columns=OLD))
    return with_runs(members, json.loads(members[ABOUT]), runs)


def with_old(values):
    return {OLD.get(name, name): value for name, value in values.items()}


@pytest.fixture
def old(tmp_path, monkeypatch):
    """The path of an old archive, and the present one of the same runs."""
    monkeypatch.chdir(tmp_path)
    present = good_archive(tmp_path)
    members = under_former_names(present)
    assert "protocol" in pd.read_parquet(io.BytesIO(members[TABLE]))
    write_archive("old.tar", members)
    (tmp_path / "results").rename(tmp_path / "made")
    return "old.tar", present


def planned(path):
    with archived_plan(read_archive(path), trusted=False, tell=pytest.fail) as found:
        return found, found.ledger


def test_its_plan_is_the_present_one(old):
    (one, claims), (other, same) = map(planned, old)
    assert one.runs == other.runs
    assert claims == same


def test_it_verifies(old):
    archive, (plan, _) = read_archive(old[0]), planned(old[0])
    checks = Verification(archive, plan, Path()).without_training()
    assert {fault for _, _, fault in checks} == {None}
    assert all(of_this_code(run, plan.runs[name]) for name, run in archive.runs.items())


def test_its_runs_come_back_under_present_names(old, tmp_path):
    archive = read_archive(old[0])
    with unpack.chosen(archive, trusted=False, tell=pytest.fail) as found:
        restored = unpack.restore(archive, found)[unpack.RESTORED]
    assert len(restored) == len(found.runs) == 9
    for name in restored:
        assert read_run(unpack.RUNS / name).facts["method"] == found.runs[name].method


def test_it_is_unpacked_with_present_columns(old, caplog, monkeypatch):
    monkeypatch.setattr(former, "_told", set())
    monkeypatch.setattr(logging.getLogger("ngo"), "propagate", True)
    plans, measured = [planned(path)[0] for path in old], tidy_table("test", "rounds_own")
    members = read_archive(old[0]).members
    write_archive("old.tar", {**members, measured: members[TABLE]})
    caplog.clear()
    one, other = (
        unpack.unpack(read_archive(path), each, "shipped")
        for path, each in zip(old, plans, strict=True)
    )
    table = pd.read_parquet(one / TABLE)
    assert table.equals(pd.read_parquet(other / TABLE))
    assert table.equals(pd.read_parquet(one / measured)[table.columns])
    assert [line for line in caplog.messages if "former" in line] == [
        "note: archive, 'old.tar': 'protocol' is a former name; it is 'method' now"
    ]


def test_a_column_under_both_names_is_refused(old):
    members = under_former_names(old[1])
    table = pd.read_parquet(io.BytesIO(members[TABLE]))
    write_archive("both.tar", {**members, TABLE: in_parquet(table.assign(method="ngo"))})
    with pytest.raises(UserError, match="own.parquet' can't be read .it has one column under tw"):
        read_archive("both.tar").table(TABLE)
