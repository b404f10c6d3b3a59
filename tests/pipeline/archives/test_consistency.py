"""Archives that were changed and packed again: found by their parts, or by training runs again."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from small_archives import (
    TABLE,
    fitted,
    forged,
    forged_table,
    in_this_process,
    members_in,
    ngo,
    with_table,
)

from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.crate import CRATE
from ngo.pipeline.archives.members import ABOUT
from ngo.pipeline.archives.packed_runs import packed


@pytest.fixture
def own(trained, tmp_path, monkeypatch):
    """The members of an archive of these; they are made again in this process."""
    monkeypatch.chdir(trained)
    in_this_process(monkeypatch, tmp_path)
    return members_in(trained)


def verified(members, *arguments, code=0):
    if "--measurements" not in arguments:
        arguments += ("--measurements", 0)
    return ngo("verify", members, *arguments, code=code)


def one_bit(columns):
    columns["V"][-1] = np.nextafter(columns["V"][-1], 10)


@pytest.mark.parametrize("seed", [0, 1, 20261122])
def test_an_archive_of_trained_runs_passes_with_any_seed(own, seed):
    out = verified(own, "--seed", seed, "--sample", 2)
    assert out.count("bit for bit") == 2
    assert "FAIL" not in out
    assert f"pass  sums: {len(own)} files" in out
    assert "pass  runs: all that the tables and figures are made from" in out
    assert "pass  provenance" in out
    assert "2 of 4 runs retrained" in out
    assert "1 %: 50.0 %, 5 %: 50.0 %, 10 %: 50.0 %, 50 %: 16.7 %, 100 %: 0.0 %\n" in out


def test_one_changed_bit_of_one_run_is_found_by_retraining_only(own):
    members, run = forged(own, one_bit)
    assert "FAIL" not in verified(members, "--seed", 0, "--sample", 0)
    out = verified(members, "--seed", 0, "--sample", 4, code=1)
    assert out.count("FAIL") == 1
    assert f"FAIL  {run}: V at step" in out
    assert out.splitlines()[-1].startswith(f"ngo: verify: 1 failed, first {run}: V at step ")


def test_in_an_earlier_archive_a_number_changed_in_one_table_is_found_without_training(own):
    (members, run), earlier = forged(own, one_bit), with_table(own)
    assert "pass  own: as in the runs" in verified(earlier, "--seed", 0, "--sample", 0)
    for changed in (
        {**earlier, TABLE: with_table(members)[TABLE]},
        {**with_table(members), TABLE: earlier[TABLE]},
    ):
        out = verified(changed, "--seed", 0, "--sample", 0, code=1)
        assert f"FAIL  own: V of {run} at step" in out


def test_the_order_of_a_tables_columns_does_not_matter_but_each_column_does(own):
    earlier = with_table(own)
    names = sorted(pd.read_parquet(io.BytesIO(earlier[TABLE])), reverse=True)
    out = verified(forged_table(earlier, TABLE, lambda t: t[names]), "--seed", 0, "--sample", 0)
    assert "pass  own: as in the runs" in out
    less = forged_table(earlier, TABLE, lambda table: table[names[1:]])
    out = verified(less, "--seed", 0, "--sample", 0, code=1)
    assert "FAIL  own: it has other columns than its runs" in out
    for name in ("run", "step"):
        less = forged_table(earlier, TABLE, lambda table, name=name: table.drop(columns=name))
        out = verified(less, "--seed", 0, "--sample", 0, code=1)
        assert "FAIL  own: it has other columns than its runs" in out
    other = forged_table(earlier, TABLE, lambda table: table[table["run"] != table["run"][0]])
    out = verified(other, "--seed", 0, "--sample", 0, code=1)
    assert "FAIL  own: it has other runs than the config" in out


def test_runs_under_the_names_of_others_are_found_without_training(own):
    runs = Archive("own.tar", own).runs
    for run in runs.values():
        method = run.record["spec"]["method"]
        run.record["spec"]["method"] = {"ngo": "gossip", "gossip": "ngo"}[method]
    changed = fitted({**own, **packed(runs.values())})
    out = verified(changed, "--seed", 0, "--sample", 0, code=1)
    assert f"FAIL  records: {min(runs)}: its record has method " in out


def test_a_record_that_does_not_fit_or_an_absent_run_is_found(own):
    members, run = forged(own, one_bit, record=False)
    assert f"FAIL  records: {run}: V is" in verified(members, "--seed", 0, "--sample", 0, code=1)
    runs = Archive("own.tar", own).runs
    runs.pop(run)
    about = {**json.loads(own[ABOUT]), "artefacts": ["own"]}
    less = {**own, **packed(runs.values())}
    out = verified({**less, ABOUT: json.dumps(about).encode()}, "--seed", 0, "--sample", 0, code=1)
    assert f"FAIL  runs: {run} is not in the archive" in out
    out = verified(less, "--seed", 0, "--sample", 0, code=1)
    assert "FAIL  provenance: its sum of results/runs/" in out


def test_an_archive_of_runs_without_provenance_fails(own):
    members = {name: content for name, content in own.items() if name != CRATE}
    out = verified(members, "--seed", 0, "--sample", 0, code=1)
    assert f"FAIL  provenance: {CRATE} is missing" in out
    for content in (b"[", b"{}", b'{"@graph": [1]}'):
        out = verified({**own, CRATE: content}, "--seed", 0, "--sample", 0, code=1)
        assert f"FAIL  provenance: {CRATE} can't be read" in out


def test_runs_that_take_too_long_are_not_drawn_and_counted(own):
    runs = Archive("own.tar", own).runs
    shortest = min(run.seconds for run in runs.values())
    out = verified(own, "--seed", 0, "--longest", shortest)
    assert "3 of 4 runs could not be drawn: too long" in out
    assert "1 of 1 runs retrained" in out
    out = verified(own, "--seed", 0, "--longest", 0, code=2)
    assert "verify: no run can be retrained: 4 too long." in out


def test_runs_of_another_results_version_are_not_drawn_and_counted(own, monkeypatch):
    monkeypatch.setattr("ngo.pipeline.archives.collect.results_version", lambda spec: "0")
    out = verified(own, "--seed", 0, code=2)
    made_by = next(iter(Archive("own.tar", own).runs.values())).record["source"]
    assert "no run can be retrained: 4 of another results version. " in out
    assert f"Runs were made by revision {made_by}." in out
    assert "4 of 4 runs could not be drawn: of another results version" in verified(
        own, "--seed", 0, "--sample", 0
    )


def test_runs_of_another_results_version_can_be_trained_all_the_same(own, monkeypatch):
    monkeypatch.setattr("ngo.pipeline.archives.collect.results_version", lambda spec: "0")
    out = verified(own, "--seed", 0, "--other-version", "--sample", 4)
    assert "4 of 4 runs retrained" in out
    members, run = forged(own, one_bit)
    out = verified(members, "--seed", 0, "--other-version", "--sample", 4, code=1)
    assert f"verify: 1 failed, first {run}: V at step" in out


def test_an_absent_data_set_is_named(own, monkeypatch):
    def absent(name, root):
        raise UserError(f"data.root: {name} is not there.")

    monkeypatch.setattr("ngo.data.download.check", absent)
    out = verified(own, "--seed", 0, code=2)
    assert out.splitlines()[-1] == "ngo: data.root: digits is not there."
