"""What an archive contains, while a campaign goes on, and its provenance."""

import dataclasses
import json

import pytest
from finished_runs import campaign, made_up_run
from rocrate.rocrate import ROCrate
from runs import tiny

from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import CRATE, WORKFLOW, Archive, write_archive
from ngo.pipeline.archives.finished_runs import (
    METRICS,
    RECORDS,
    of_this_code,
    packed,
    revisions,
    write_run,
)
from ngo.pipeline.archives.pack import collect_finished, crate
from ngo.pipeline.paths import RUNS, tidy_table

OTHER = {"ngo": "0.2.0", "python": "3.11.8", "torch": "2.1+cpu", "numpy": "2.0"}
LATER = {"started": "2026-01-03T03:04:05+00:00", "processor": "Two", "versions": OTHER}
MADE_UP = [made_up_run(tiny(seed=0)), made_up_run(tiny(seed=1), **LATER)]
RECORDED = [run.record for run in MADE_UP]
ABOUT = {"tier": "test", "configs": ["config/config.yaml"]}
DATA = f"results/data/{tiny().dataset}.json"
MEMBERS = {
    **{WORKFLOW: b"rule all:\n", "config/config.yaml": b"tier: test\n", DATA: b"{}"},
    **{"results/test/metrics/a b.parquet": b"table", **packed(MADE_UP)},
}


def ids(entities):
    return {entity.id for entity in entities}


def test_the_crate_has_what_its_profiles_require():
    content = crate(MEMBERS, ABOUT, RECORDED)
    assert crate(dict(reversed(MEMBERS.items())), ABOUT, RECORDED[::-1]) == content
    assert "https://w3id.org/ro/terms/workflow-run/context" in json.loads(content)["@context"]
    made = ROCrate(json.loads(content))  # as the library reads it
    assert made.metadata.id == CRATE
    assert "https://w3id.org/ro/crate/1.1" in made.metadata["conformsTo"]
    assert ids(made.root_dataset["conformsTo"]) == {
        "https://w3id.org/ro/wfrun/process/0.5",
        "https://w3id.org/ro/wfrun/workflow/0.5",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
    }
    assert made.license["name"] == "MIT License"
    assert made.datePublished.isoformat() == "2026-01-03T03:05:06+00:00"
    workflow = made.mainEntity
    assert workflow.id == WORKFLOW
    assert workflow.type == ["File", "SoftwareSourceCode", "ComputationalWorkflow"]
    assert workflow["programmingLanguage"]["name"] == "Snakemake"
    used = {
        program["name"]: program["softwareVersion"] for program in workflow["softwareRequirements"]
    }
    assert used.keys() == {"ngo", "python", "torch", "numpy"}
    assert used["ngo"] == ["0.1.0", "0.2.0"]
    (action,) = made.root_dataset["mentions"]
    assert (action.type, action["instrument"]) == ("CreateAction", workflow)
    assert ids(action["object"]) == {"config/config.yaml", DATA}
    assert ids(action["result"]) == {METRICS, RECORDS, "results/test/metrics/a%20b.parquet"}
    assert action["startTime"] == "2026-01-02T03:04:05+00:00"
    assert action["endTime"] == "2026-01-03T03:05:06+00:00"
    assert action["description"].startswith("2 runs on One, Two; revision ")


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
    assert counts == {
        "runs of the config": 4, "packed": 2, "of another results version": 0, "not finished": 2,
    }  # fmt: skip
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


def test_a_run_of_another_version_of_a_library_is_not_current(own):
    first, *_ = own[1].runs.values()
    run = made_up_run(first)
    run.record["versions"]["torch"] += "+another.build"
    assert of_this_code(run, first)
    run.record["versions"]["torch"] = "1.0"
    assert not of_this_code(run, first)
    assert revisions([run.record]) == "0123abc with torch 1.0"
    assert revisions([made_up_run(first).record]) == "0123abc"


def test_a_record_of_an_earlier_version_lacks_fields_without_effect(own):
    first, *_ = own[1].runs.values()
    run = made_up_run(first)
    spec = {name: value for name, value in run.record["spec"].items() if name != "lr_schedule"}
    assert spec != run.record["spec"]
    assert of_this_code(dataclasses.replace(run, record={**run.record, "spec": spec}), first)
