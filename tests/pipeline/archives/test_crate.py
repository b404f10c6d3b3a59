"""The provenance of an archive, against what Workflow Run RO-Crate 0.5 requires."""

import hashlib
import json
from datetime import datetime

import pytest
from finished_runs import made_up_run
from json_ld import references
from runs import tiny

from ngo.pipeline.archives.crate import CRATE, WORKFLOW, crate
from ngo.pipeline.archives.packed_runs import METRICS, RECORDS, packed

RUNS = [
    made_up_run(tiny(seed=0)),
    made_up_run(tiny(seed=1), started="2026-01-03T03:04:05+00:00", processor="Two"),
]
ABOUT = {"tier": "test", "configs": ["config/config.yaml"]}
DATA = f"results/data/{tiny().dataset}.json"
MEMBERS = {
    WORKFLOW: b"rule all:\n",
    "config/config.yaml": b"tier: test\n",
    DATA: b"{}",
    "results/test/metrics/a b.parquet": b"table",
    **packed(RUNS),
}


@pytest.fixture(scope="module")
def entities():
    graph = json.loads(crate(MEMBERS, ABOUT, [run.record for run in RUNS]))["@graph"]
    assert len({entity["@id"] for entity in graph}) == len(graph)
    return {entity["@id"]: entity for entity in graph}


def ids(value):
    return [each["@id"] for each in (value if isinstance(value, list) else [value])]


def test_the_same_archive_gives_the_same_bytes():
    records = [run.record for run in RUNS]
    content = crate(MEMBERS, ABOUT, records)
    backwards = dict(reversed(MEMBERS.items()))
    assert crate(backwards, ABOUT, records[::-1]) == content
    assert json.loads(content)["@context"] == [
        "https://w3id.org/ro/crate/1.1/context",
        "https://w3id.org/ro/terms/workflow-run/context",
    ]


def test_everything_that_is_referred_to_is_described(entities):
    known = {*entities, "https://w3id.org/ro/crate/1.1"}
    for entity in entities.values():
        assert set(references({k: v for k, v in entity.items() if k != "@id"})) <= known
        assert entity["@type"]


def test_the_descriptor_and_the_root(entities):
    descriptor, root = entities[CRATE], entities["./"]
    assert descriptor["@type"] == "CreativeWork"
    assert ids(descriptor["about"]) == ["./"]
    assert "https://w3id.org/ro/crate/1.1" in ids(descriptor["conformsTo"])
    assert root["@type"] == "Dataset"
    assert {
        "https://w3id.org/ro/wfrun/process/0.5",
        "https://w3id.org/ro/wfrun/workflow/0.5",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
    } == set(ids(root["conformsTo"]))
    for profile in ids(root["conformsTo"]):
        assert entities[profile]["@type"] == "CreativeWork"
        assert entities[profile]["version"]
    for needed in ("name", "description", "license"):
        assert root[needed]
    assert datetime.fromisoformat(root["datePublished"]).isoformat() == "2026-01-03T03:05:06+00:00"
    assert ids(root["mainEntity"]) == [WORKFLOW]
    assert set(ids(root["mentions"])) == {
        name for name, entity in entities.items() if entity["@type"] == "CreateAction"
    }


def test_the_main_workflow_and_its_language(entities):
    workflow = entities[WORKFLOW]
    assert workflow["@type"] == ["File", "SoftwareSourceCode", "ComputationalWorkflow"]
    language = entities[workflow["programmingLanguage"]["@id"]]
    assert language["@type"] == "ComputerLanguage"
    assert language["name"] == "Snakemake"
    assert entities[workflow["softwareRequirements"]["@id"]]["softwareVersion"] == "0.1.0"


def test_every_member_is_a_file_with_its_sum(entities):
    files = ids(entities["./"]["hasPart"])
    assert files == [name.replace(" ", "%20") for name in sorted(MEMBERS)]
    for name, content in MEMBERS.items():
        entity = entities[name.replace(" ", "%20")]
        assert "File" in entity["@type"]
        assert entity["sha256"] == hashlib.sha256(content).hexdigest()
        assert entity["contentSize"] == str(len(content))


def test_the_training_by_each_processor_is_an_action_with_times_instrument_and_results(entities):
    for number, run in enumerate(RUNS, 1):
        action = entities[f"#training-{number}"]
        assert action["@type"] == "CreateAction"
        assert action["name"] == f"Training on {tiny().dataset}"
        assert action["startTime"] == run.record["started"]
        took = datetime.fromisoformat(action["endTime"]) - datetime.fromisoformat(
            action["startTime"]
        )
        assert took.total_seconds() == run.record["wall_seconds"]
        (tool,) = ids(action["instrument"])
        assert entities[tool]["@type"] == "SoftwareApplication"
        assert ids(action["object"]) == [DATA]
        assert ids(action["result"]) == [METRICS, RECORDS]
        processor, revision = run.record["processor"], run.record["source"]
        assert action["description"] == f"1 run on {processor}; revision {revision}"


def test_runs_of_one_data_set_processor_and_revision_are_one_action():
    runs = [made_up_run(tiny(seed=seed)).record for seed in range(3)]
    runs[1]["started"] = "2026-01-03T03:04:05+00:00"
    graph = json.loads(crate(MEMBERS, ABOUT, runs))["@graph"]
    (action,) = [each for each in graph if each["@id"].startswith("#training")]
    assert action["description"].startswith("3 runs on One")
    assert action["startTime"] == runs[0]["started"]
    assert action["endTime"] == "2026-01-03T03:05:06+00:00"


def test_a_run_without_a_data_set_has_an_action_too():
    run = made_up_run(tiny())
    run.record["spec"]["dataset"] = None
    graph = json.loads(crate(MEMBERS, ABOUT, [RUNS[0].record, run.record]))["@graph"]
    named = [each["name"] for each in graph if each["@id"].startswith("#training")]
    assert named == [f"Training on {tiny().dataset}", "Training on unknown data"]


def test_the_workflow_run_has_the_workflow_as_its_instrument(entities):
    action = entities["#workflow-run"]
    assert ids(action["instrument"]) == [WORKFLOW]
    assert ids(action["object"]) == ["config/config.yaml", DATA]
    assert set(ids(action["result"])) == {METRICS, RECORDS, "results/test/metrics/a%20b.parquet"}
    assert action["startTime"] == "2026-01-02T03:04:05+00:00"
    assert action["endTime"] == "2026-01-03T03:05:06+00:00"


def test_all_versions_of_the_software_are_listed():
    other = made_up_run(
        tiny(seed=1),
        versions={"ngo": "0.2.0", "python": "3.11.8", "torch": "2.1+cpu", "numpy": "2.0"},
    )
    records = [RUNS[0].record, other.record]
    graph = json.loads(crate(MEMBERS, ABOUT, records))["@graph"]
    found = {(each["name"], each["softwareVersion"]) for each in graph if "softwareVersion" in each}
    here = RUNS[0].record["versions"]["torch"]
    assert {("torch", here), ("torch", "2.1+cpu"), ("Python", "3.11.8")} <= found
    assert ("ngo", "0.1.0, 0.2.0") in found
