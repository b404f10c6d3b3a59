"""What the workflow checks and writes before it starts jobs."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from conftest import REPOSITORY
from runs import tiny
from shipped_plans import config_of, plan_of, plan_of_tier

from ngo.common.files import PARTIAL
from ngo.pipeline import workflow_start
from ngo.pipeline.config import read_config
from ngo.pipeline.jobs import drawings, jobs
from ngo.pipeline.paths import partition_file, tidy_table
from ngo.pipeline.workflow_start import module_files
from verdicts.registry import UserError


def test_values_are_an_overlay_of_the_base(tmp_path):
    base = read_config([REPOSITORY / "config/config.yaml"])
    files = module_files({**base, "tier": "mine", "seeds": [3]})
    made = read_config(files)
    assert files[1] == "results/mine/config.yaml"
    assert (made["tier"], made["seeds"], made["settings"]) == ("mine", [3], base["settings"])
    assert (tmp_path / made["claims"]).resolve() == REPOSITORY / base["claims"]
    before = (tmp_path / files[1]).stat().st_mtime_ns
    assert module_files({"tier": "mine", "seeds": [3]}) == files
    assert (tmp_path / files[1]).stat().st_mtime_ns == before


def test_a_file_of_the_working_directory_comes_first_and_a_tier_is_no_path(tmp_path):
    (tmp_path / "own.yaml").write_text("claims: {}\n")
    _, overlay = module_files({"tier": "mine", "claims": "own.yaml"})
    assert yaml.safe_load((tmp_path / overlay).read_text())["claims"] == "own.yaml"
    with pytest.raises(UserError, match="^tier: '../mine' is not allowed; "):
        module_files({"tier": "../mine"})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working directory; what the workflow holds and does at its end is dropped."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workflow_start.atexit, "register", lambda *_: None)
    monkeypatch.setattr(workflow_start, "HELD", [])
    yield tmp_path
    for lock in workflow_start.HELD:
        lock.release()


def refused(plan, configs=(), forced=False):
    before = sorted(map(str, Path.cwd().rglob("*")))
    with pytest.raises(UserError) as told:
        workflow_start.check(plan, configs, forced=forced)
    assert sorted(map(str, Path.cwd().rglob("*"))) == before
    return str(told.value)


def test_a_brace_in_a_path_is_refused():
    told = refused(plan_of_tier(), ["config/config.yaml", "{mine}.yaml"])
    assert told.startswith("path: '{mine}.yaml' has a brace, which Snakemake reads as a wildcard;")
    assert "'own}.yaml' has a brace" in refused(replace(plan_of_tier(), claims="own}.yaml"))


@pytest.mark.parametrize("name", ["all", "spectra_mine", "classes_x"])
def test_an_experiment_with_a_name_of_the_workflow_is_refused(name, monkeypatch):
    config = config_of()
    case = {"settings": ["digits_iid"], "compare": [{}]}
    config["training"] = {**config["training"], name: case}
    with monkeypatch.context() as at:
        at.chdir(REPOSITORY)
        plan = plan_of(config)
    assert refused(plan) == (f"training: {name!r} is a name of the pipeline's own; choose another.")


@pytest.mark.parametrize("made", [tidy_table("demo", "fig4"), partition_file("demo", "digits_iid")])
def test_results_that_snakemake_does_not_know_are_refused_once(made, folder):
    path = folder / made
    path.parent.mkdir(parents=True)
    path.touch()
    told = refused(plan_of_tier())
    assert told.startswith("results: 'results/demo' is here without .snakemake/metadata, so Snak")
    assert "--forceall" in told
    workflow_start.check(plan_of_tier(), [], forced=True)
    workflow_start.check(replace(plan_of_tier(), tier="laptop"), [], forced=False)
    workflow_start.RECORDS.mkdir(parents=True)
    workflow_start.check(plan_of_tier(), [], forced=False)


def small():
    """A job and a drawing of two runs."""
    specs = [tiny(seed=seed) for seed in (0, 1)]
    settings = {spec.id: "one" for spec in specs}
    changes = {"training": {"own": specs}, "settings": settings, "partitions": {}, "snapshots": {}}
    plan = replace(plan_of_tier(), **changes)
    return jobs(plan)["own"], list(drawings(plan).values())


def test_files_of_jobs_are_written_where_their_bytes_differ(folder):
    made, drawn = small()
    workflow_start.begin(made, drawn, folder, "demo")
    files = [Path(job.file) for job in (*made, *drawn)]
    names = ["results/demo/jobs/own-one.json", "results/demo/partitions/one.json"]
    assert [str(path) for path in files] == names
    assert [path.read_text() for path in files] == [job.text for job in (*made, *drawn)]
    os.utime(files[0], ns=(1, 1))
    files[1].write_bytes(b"\xff")
    workflow_start.write_files([*made, *drawn])
    assert files[0].stat().st_mtime_ns == 1
    assert files[1].read_text() == drawn[0].text


def test_partial_files_are_removed_and_the_lock_is_held(folder):
    partial = folder / f"results/demo/jobs/{PARTIAL}own.parquet.abc.parquet"
    partial.parent.mkdir(parents=True)
    partial.touch()
    workflow_start.begin(*small(), folder, "demo")
    assert not partial.exists()
    assert Path(workflow_start.LOCK).exists()
    with pytest.raises(UserError, match="another process is working in this folder"):
        workflow_start.begin(*small(), folder, "demo")
    workflow_start.HELD.pop().release()
    workflow_start.begin(*small(), folder, "demo")
