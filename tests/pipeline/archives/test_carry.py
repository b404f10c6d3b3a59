"""Archives of earlier code, carried over to the present code."""

import dataclasses
import json
import shutil

import pytest
from runs import run_in
from small_archives import forged, members_in, ngo, small_campaign, train

from ngo.pipeline.archives import carry as stage
from ngo.pipeline.archives.archive import ABOUT, OLDER, Archive, read_archive
from ngo.pipeline.archives.carried import CARRIED
from ngo.pipeline.archives.collect import of_this_code, with_runs
from ngo.pipeline.archives.packed_runs import read_run
from ngo.pipeline.archives.retraining import Retraining
from ngo.training.code import run_fingerprint

BEFORE = "0123456789abcdef"  # of runs of gossip
OTHER = BEFORE[::-1]  # of runs of NGO


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the runs of a campaign."""
    folder = tmp_path_factory.mktemp("trained")
    train(folder)
    return folder


@pytest.fixture
def asked(trained, tmp_path, monkeypatch):
    """The runs that are trained, in this process, by id; kept runs are in ``tmp_path``."""
    monkeypatch.chdir(trained)
    found = []

    def trained_in(self, folder, spec, environment, known=None):
        found.append(spec.id)
        run_in(spec, folder)
        return read_run(folder)

    monkeypatch.setattr(Retraining, "trained_in", trained_in)
    return found


def of_code(members, gossip=BEFORE, ngo=OTHER, **about):
    """The archive with runs that say that other code made them."""
    changed = []
    for run in Archive("own.tar", members).runs.values():
        code = gossip if run.record["spec"]["method"] == "gossip" else ngo
        its = {**run.record["about"], "code": code, **about}
        changed.append(dataclasses.replace(run, record={**run.record, "about": its}))
    return with_runs(members, json.loads(members[ABOUT]), changed)


def carried(members, tmp_path, *arguments, code=0):
    return ngo("carry", members, "--kept", tmp_path / "kept", *arguments, code=code)


def test_runs_that_the_code_makes_as_before_get_its_key_and_verify(trained, tmp_path, asked):
    original = members_in(trained)
    out = carried(of_code(original), tmp_path)
    assert out.startswith("4 runs, 4 of earlier code in 2 strata\npass  1/2  ")
    assert out.count(": bit for bit (") == 2
    assert len(asked) == 2
    members = read_archive("own.tar").members
    runs, planned = Archive("own.tar", members).runs, small_campaign(trained)[1]
    assert all(of_this_code(run, planned.runs[name]) for name, run in runs.items())
    entries = json.loads(members[CARRIED])
    assert [entry["runs"] for entry in entries] == [2, 2]
    assert {entry["shown_by"] for entry in entries} == set(asked)
    assert {entry["from"] for entry in entries} == {BEFORE, OTHER}
    assert {entry["to"] for entry in entries} == {run.about["code"] for run in runs.values()}
    before = Archive("own.tar", original).runs
    for name, run in runs.items():
        assert run.record["source"] == before[name].record["source"]
        assert {key for key in run.record if run.record[key] != before[name].record.get(key)} == {
            "carried"
        }
        assert run.columns["V"].tobytes() == before[name].columns["V"].tobytes()
    assert {name for name in members if members[name] != original.get(name)} == {
        CARRIED, "results/runs/records.jsonl.xz", "ro-crate-metadata.json",
    }  # fmt: skip
    out = ngo("verify", members, "--sample", 0)
    assert "pass  carried.json: as in the records" in out
    assert "FAIL" not in out
    wrong = {**members, CARRIED: b"[]\n"}
    assert "FAIL  carried.json: it does not" in ngo("verify", wrong, "--sample", 0, code=1)


def test_what_was_trained_for_one_archive_serves_for_another(trained, tmp_path, asked):
    members = of_code(members_in(trained))
    carried(members, tmp_path)
    carried(members, tmp_path, "--out", tmp_path / "other.tar")
    assert len(asked) == 2
    assert (tmp_path / "other.tar").exists()


def test_earlier_entries_are_kept(trained, tmp_path, asked):
    carried(of_code(members_in(trained)), tmp_path)
    carried(of_code(read_archive("own.tar").members, "a" * 16, "b" * 16), tmp_path)
    entries = json.loads(read_archive("own.tar").members[CARRIED])
    assert sorted(entry["from"] for entry in entries) == [BEFORE, "a" * 16, "b" * 16, OTHER]


def test_a_stratum_that_the_code_makes_otherwise_is_named_and_keeps_its_key(
    trained, tmp_path, asked
):
    def other(columns):
        columns["V"][-1] *= 1.5

    members, run = forged(of_code(members_in(trained)), other)
    only = [
        each
        for name, each in Archive("own.tar", members).runs.items()
        if name == run or "-gossip-" not in name  # so that the changed one is drawn
    ]
    members = with_runs(members, json.loads(members[ABOUT]), only)
    out = carried(members, tmp_path, code=1)
    assert f"1 runs by {run}: bit for bit: V at step " in out
    assert "ngo: carry: 1 not carried over, first 0123456789abcdef → " in out
    assert read_archive("own.tar").members == members  # nothing is written
    carried(members, tmp_path, "--partial", code=1)
    after = read_archive("own.tar").members
    runs, planned = Archive("own.tar", after).runs, small_campaign(trained)[1]
    assert runs[run].about["code"] == BEFORE
    assert len(runs) == 3
    rest = [name for name in runs if name != run]
    assert all(of_this_code(runs[name], planned.runs[name]) for name in rest)
    assert OLDER in json.loads(after[ABOUT])
    out = ngo("verify", after, "--sample", 0)
    assert "1 of 3 runs could not be drawn: of other code" in out


def test_a_stratum_without_its_data_is_named(trained, tmp_path, asked, monkeypatch):
    def absent(name, root):
        raise stage.UserError(f"data.root: {name} is not there.")

    monkeypatch.setattr("ngo.data.download.check", absent)
    out = carried(of_code(members_in(trained)), tmp_path, code=1)
    assert out.count("not trained: data.root: digits is not there. (") == 2
    assert out.count("FAIL") == 2
    assert not asked


def test_elsewhere_the_earlier_code_is_trained_too(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(trained)
    members = of_code(members_in(trained), instructions="NEON")
    where = []

    def trained_in(self, folder, spec, environment, known=None):
        where.append(environment.get("PYTHONPATH"))
        run_in(spec, folder)
        if "PYTHONPATH" in environment:
            record = json.loads((folder / "run.json").read_text())
            record["about"]["code"] = made_by[spec.method]
            (folder / "run.json").write_text(json.dumps(record))
        return read_run(folder)

    monkeypatch.setattr(Retraining, "trained_in", trained_in)
    monkeypatch.setattr(stage, "earlier_package", lambda source, folder: folder / "src")
    made_by = {"gossip": BEFORE, "ngo": OTHER}
    out = carried(members, tmp_path)
    assert out.count(": bit for bit with the earlier code on this processor (") == 2
    assert [each is None for each in where] == [True, False, True, False]
    shutil.rmtree(tmp_path / "kept")
    made_by = dict.fromkeys(
        made_by, "of other code"
    )  # that the record's revision does not have the run's key
    out = carried(members, tmp_path)
    assert out.count(": within two roundings (") == 2


def test_an_archive_is_marked_and_the_mark_goes_when_it_is_carried_over(trained, tmp_path, asked):
    members = of_code(members_in(trained))
    source = next(iter(Archive("own.tar", members).runs.values())).record["source"]
    assert "4 of 4 runs are of earlier code; marked → own.tar" in carried(
        members, tmp_path, "--mark-older"
    )
    marked = read_archive("own.tar").members
    assert json.loads(marked[ABOUT])[OLDER] == source
    assert "FAIL" not in ngo("verify", marked, "--sample", 0)
    carried(marked, tmp_path)
    assert OLDER not in json.loads(read_archive("own.tar").members[ABOUT])
    out = carried(members_in(trained), tmp_path, "--mark-older", code=2)
    assert out == "ngo: mark_older: all runs of the archive are of the present code.\n"


def test_strata_are_of_one_code_before_and_one_now(trained, asked):
    planned = small_campaign(trained)[1]
    runs = Archive("own.tar", of_code(members_in(trained))).runs
    found, refused = stage.strata(runs, planned)
    assert refused == {}
    assert sorted(len(each.runs) for each in found) == [2, 2]
    for each in found:
        assert {run_fingerprint(planned.runs[name]) for name in each.runs} == {each.new}
        shortest = min(each.runs, key=lambda name: runs[name].seconds)
        assert stage.chosen(each, runs, None) == shortest
        assert {stage.chosen(each, runs, seed) for seed in range(20)} == set(each.runs)
    assert stage.strata(Archive("own.tar", members_in(trained)).runs, planned) == ([], {})
    stranger = {f"{name}x": run for name, run in runs.items()}
    assert stage.strata(stranger, planned) == ([], {"not in the archive's config": 4})


def test_runs_that_took_too_long_are_not_trained_and_their_strata_are_named(
    trained, tmp_path, asked
):
    def codes(members):
        return {name: run.about["code"] for name, run in Archive("own.tar", members).runs.items()}

    members = of_code(members_in(trained))
    out = carried(members, tmp_path, "--longest", 0, "--partial", code=1)
    assert out.count("not trained: it took ") >= 2
    assert asked == []
    assert codes(read_archive("own.tar").members) == codes(members)
