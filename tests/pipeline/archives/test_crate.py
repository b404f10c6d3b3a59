"""The provenance of an archive, against what Workflow Run RO-Crate 0.5 requires."""

import json

import pytest
from finished_runs import made_up_run
from rocrate.rocrate import ROCrate
from runs import tiny

from ngo.pipeline.archives.archive import CRATE, WORKFLOW
from ngo.pipeline.archives.pack import crate
from ngo.pipeline.archives.runs import METRICS, RECORDS, packed

OTHER = {"ngo": "0.2.0", "python": "3.11.8", "torch": "2.1+cpu", "numpy": "2.0"}
LATER = {"started": "2026-01-03T03:04:05+00:00", "processor": "Two", "versions": OTHER}
RUNS = [made_up_run(tiny(seed=0)), made_up_run(tiny(seed=1), **LATER)]
RECORDED = [run.record for run in RUNS]
ABOUT = {"tier": "test", "configs": ["config/config.yaml"]}
DATA = f"results/data/{tiny().dataset}.json"
MEMBERS = {
    WORKFLOW: b"rule all:\n",
    "workflow/rules/data.smk": b"",
    "config/config.yaml": b"tier: test\n",
    DATA: b"{}",
    "results/test/metrics/a b.parquet": b"table",
    **packed(RUNS),
}


@pytest.fixture(scope="module")
def made():
    """The crate, as the library reads it."""
    return ROCrate(json.loads(crate(MEMBERS, ABOUT, RECORDED)))


def ids(entities):
    return {each.id for each in entities}


def test_the_same_archive_gives_the_same_bytes():
    content = crate(MEMBERS, ABOUT, RECORDED)
    assert crate(dict(reversed(MEMBERS.items())), ABOUT, RECORDED[::-1]) == content
    assert json.loads(content)["@context"] == [
        "https://w3id.org/ro/crate/1.1/context",
        "https://w3id.org/ro/terms/workflow-run/context",
    ]


def test_the_descriptor_and_the_root(made):
    assert made.metadata.id == CRATE
    assert "https://w3id.org/ro/crate/1.1" in made.metadata["conformsTo"]
    assert ids(made.root_dataset["conformsTo"]) == {
        "https://w3id.org/ro/wfrun/process/0.5",
        "https://w3id.org/ro/wfrun/workflow/0.5",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
    }
    for profile in made.root_dataset["conformsTo"]:
        assert profile.type == "CreativeWork"
        assert profile["version"] in profile.id
    assert "test tier" in made.name
    assert made.description.startswith("Metrics and records of 2 training runs")
    assert made.license["name"] == "MIT License"
    assert made.datePublished.isoformat() == "2026-01-03T03:05:06+00:00"


def test_the_main_workflow_has_its_language_and_all_versions_of_its_software(made):
    workflow = made.mainEntity
    assert workflow.id == WORKFLOW
    assert workflow.type == ["File", "SoftwareSourceCode", "ComputationalWorkflow"]
    assert workflow["programmingLanguage"]["name"] == "Snakemake"
    found = {each["name"]: each["softwareVersion"] for each in workflow["softwareRequirements"]}
    assert found["ngo"] == ["0.1.0", "0.2.0"]
    assert set(found["torch"]) == {"2.1+cpu", RECORDED[0]["versions"]["torch"]}
    assert found.keys() == {"ngo", "python", "torch", "numpy"}


def test_the_workflow_run_has_times_what_it_read_and_what_it_made(made):
    (action,) = made.root_dataset["mentions"]
    assert action.type == "CreateAction"
    assert action["instrument"] is made.mainEntity
    assert ids(action["object"]) == {"config/config.yaml", DATA}
    assert ids(action["result"]) == {METRICS, RECORDS, "results/test/metrics/a%20b.parquet"}
    assert action["startTime"] == "2026-01-02T03:04:05+00:00"
    assert action["endTime"] == "2026-01-03T03:05:06+00:00"
    assert action["description"].startswith("2 runs on One, Two; revision ")
    assert RECORDED[0]["source"] in action["description"]
