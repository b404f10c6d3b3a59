"""What an archive contains, while a campaign goes on."""

import dataclasses
import json

import pytest
from finished_runs import campaign, made_up_run

from ngo.pipeline.archives.archive import Archive, collect_finished, write_archive
from ngo.pipeline.archives.finished_runs import of_this_code, revisions, write_run
from ngo.pipeline.paths import RUNS, tidy_table
from verdicts.registry import UserError


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a campaign of four runs, of which none is finished."""
    monkeypatch.chdir(tmp_path)
    return campaign(tmp_path)


def finish(*specs, **record):
    for spec in specs:
        write_run(RUNS / spec.id, made_up_run(spec, **record))


def test_more_finished_runs_give_an_archive_of_all(own, tmp_path):
    configs, planned = own
    first, second, *rest = planned.runs.values()
    with pytest.raises(UserError, match="none of the 4 runs of the config is finished here"):
        collect_finished(configs)
    finish(first, second)
    members, counts = collect_finished(configs)
    assert " ".join(counts) == "runs of the config packed of another results version not finished"
    assert [*counts.values()] == [4, 2, 0, 2]
    assert set(Archive("a", members).runs) == {first.id, second.id}
    finish(*rest)
    (tmp_path / tidy_table("test", "own")).parent.mkdir(parents=True)
    (tmp_path / tidy_table("test", "own")).write_bytes(b"a table")
    members, counts = collect_finished(configs)
    assert (counts["packed"], counts["not finished"]) == (4, 0)
    assert set(Archive("a", members).runs) == set(planned.runs)
    assert tidy_table("test", "own") not in members
    about = json.loads(members["archive.json"])
    assert (about["artefacts"], about["whole"], about["runs"]) == ([], False, 4)
    assert write_archive("a.tar", members) == write_archive("b.tar", collect_finished(configs)[0])


def test_runs_of_other_libraries_are_not_current_and_lacking_fields_are_allowed(own):
    first, *_ = own[1].runs.values()
    run = made_up_run(first)
    run.record["versions"]["torch"] += "+another.build"
    assert of_this_code(run, first)
    run.record["versions"]["torch"] = "1.0"
    assert not of_this_code(run, first)
    assert revisions([run.record]) == "0123abc with torch 1.0"
    assert revisions([made_up_run(first).record]) == "0123abc"
    first, *_ = own[1].runs.values()
    run = made_up_run(first)
    spec = {name: value for name, value in run.record["spec"].items() if name != "lr_schedule"}
    assert spec != run.record["spec"]
    assert of_this_code(dataclasses.replace(run, record={**run.record, "spec": spec}), first)
