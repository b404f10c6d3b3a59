"""The work of runs, the cut of a plan into jobs, their keys, and the start of the workflow."""

import os
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from cases import mistake_of
from conftest import REPOSITORY
from runs import digits_run, tiny
from shipped_plans import config_of, plan_of, plan_of_tier

from ngo.common import versions
from ngo.common.files import PARTIAL, hashed
from ngo.pipeline import workflow_start
from ngo.pipeline.config import read_config
from ngo.pipeline.job_training import read_job
from ngo.pipeline.jobs import LIMIT, MOST, Combination, cost, drawings, jobs
from ngo.pipeline.paths import partition_file, tidy_table
from ngo.pipeline.workflow_start import module_files, write_files
from ngo.training.evaluation import evaluation_steps
from ngo.training.spec import RunSpec
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

TEST = 10_000  # as many test samples are assumed
SPEC = resolve({"topology": "ring", "partition": "shards", "shards": 40})


def test_the_cost_of_a_run_is_that_of_its_loop():
    """With 4 workers: 5 models at all evaluations but the first, all test images at the last."""
    spec = digits_run(eval_images=100)
    assert spec.steps(spec.owned) == 22
    assert len(evaluation_steps(spec, spec.owned)) == 3
    images = 100 + 5 * 100 + 5 * TEST
    assert cost(spec) == pytest.approx(22 * 4 * 16 + images / 3)


def own_plan(specs, **changes):
    """The plan of the demo with one experiment of these runs, in one setting."""
    settings = {spec.id: "one" for spec in specs}
    changes = {"settings": settings, "snapshots": {}, "partitions": {}, **changes}
    return replace(plan_of_tier(), training={"own": list(specs)}, **changes)


def own_jobs(specs, **changes):
    return jobs(own_plan(specs, **changes))["own"]


def keys_of(made):
    return {job.name: job.key for job in made}


def listed(made):
    return [job for experiment in made.values() for job in experiment]


def some(count, *, epochs=0.5, seeds=(0,)):
    """Combinations on MNIST of which some ten cost as much as a job may, at 0.5 epochs."""
    rates = [0.001 * k for k in range(1, count + 1)]
    return [resolve({"lr": lr, "epochs": epochs, "seed": s}) for lr in rates for s in seeds]


def test_each_run_of_an_experiment_is_in_one_of_its_jobs():
    plan = plan_of_tier("paper")
    made = jobs(plan)
    assert list(made) == list(plan.training)
    for name, specs in plan.training.items():
        found = Counter(spec.id for job in made[name] for spec in job.runs)
        assert found == Counter(spec.id for spec in specs)
    groups = {(name, job.setting) for name, group in made.items() for job in group}
    assert len(listed(made)) <= max(MOST, len(groups))


def test_jobs_and_their_runs_come_back_from_their_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan, made = plan_of_tier(), listed(jobs(plan_of_tier()))
    write_files(made)
    for job in made:
        content = read_job(Path(job.file), job.key)
        runs = []
        for combination in content["combinations"]:
            runs += [RunSpec.of({**combination["values"], "seed": s}) for s in combination["seeds"]]
        assert runs == job.runs
        assert all(plan.runs[spec.id] == spec for spec in runs)
        kept = {spec.id for spec in runs} & plan.snapshots.keys()
        assert content["snapshots"] == {name: plan.snapshots[name] for name in kept}
        assert {plan.settings[spec.id] for spec in runs} == {job.setting}
        assert {spec.partition_id for spec in runs} <= plan.drawn[job.setting].keys()


def test_jobs_are_below_a_limit_and_named_by_a_slug_or_the_bits_of_hashes():
    large, small = resolve({"epochs": 50.0, "seed": 3}), some(2)
    made = {job.name: job for job in own_jobs([large, *small])}
    named = Combination((large,)).name
    assert re.fullmatch(r"mnist-iid-ring-ngo-p0\.95-[0-9a-f]{8}", named)
    assert made.keys() == {f"own-one-{named}", "own-one"}
    assert made[f"own-one-{named}"].runs == [large]
    assert {spec.id for spec in made["own-one"].runs} == {spec.id for spec in small}
    made = own_jobs(some(100))
    assert 4 < len(made) < 100
    for job in made:
        bits = job.name.removeprefix("own-one-")
        assert set(bits) <= {"0", "1"}
        assert all(combination.bits.startswith(bits) for combination in job.combinations)
        assert sum(combination.cost for combination in job.combinations) <= LIMIT


def test_a_new_seed_renames_no_job_and_changes_the_keys_of_those_that_have_it():
    specs = [*some(40, seeds=(0, 1)), resolve({"epochs": 50.0})]
    before = keys_of(own_jobs(specs))
    new = replace(specs[7], seed=9)
    after = keys_of(own_jobs([*specs, new]))
    assert before.keys() == after.keys()
    (changed,) = (name for name in before if before[name] != after[name])
    (having,) = (job.name for job in own_jobs([*specs, new]) if new in job.runs)
    assert changed == having
    more = keys_of(own_jobs([*specs, *(replace(spec, seed=9) for spec in specs)]))
    assert more.keys() == before.keys()
    assert not set(more.values()) & set(before.values())


def test_the_order_of_a_config_does_not_matter():
    config = config_of()
    before = keys_of(listed(jobs(plan_of(config))))
    training = dict(reversed(config["training"].items()))
    for name, entry in training.items():
        training[name] = {**entry, "compare": entry["compare"][::-1]}
    turned = {**config, "training": training, "seeds": [1, 0]}
    assert keys_of(listed(jobs(plan_of(turned)))) == before


def test_blocks_of_seeds_are_jobs():
    specs = [*some(3, seeds=(7, 3, 5, 4, 9)), resolve({"epochs": 50.0, "seed": 4})]
    draws = random.Random(0)
    made = {job.name: job for job in own_jobs(specs, config={"seeds_per_job": 2})}
    assert {name: sorted({spec.seed for spec in job.runs}) for name, job in made.items()} == {
        "own-one-seeds0": [3, 4],
        "own-one-seeds1": [5, 7],
        "own-one-seeds2": [9],
        f"own-one-{Combination((specs[-1],)).name}-seeds0": [4],
    }
    found = Counter(spec.id for job in made.values() for spec in job.runs)
    assert found == Counter(spec.id for spec in specs)
    turned = own_jobs(draws.sample(specs, len(specs)), config={"seeds_per_job": 2})
    assert keys_of(turned) == keys_of(made.values())
    whole = {f"{job.name}-seeds0" for job in own_jobs(specs)}
    assert keys_of(own_jobs(specs, config={"seeds_per_job": 5})).keys() == whole


def test_two_jobs_of_one_name_are_refused():
    """A setting may be named like a part of another."""
    specs = some(40)
    settings = {spec.id: "one" for spec in specs}
    other = resolve({"lr": 0.5, "epochs": 0.01})
    settings[other.id] = min(job.name.removeprefix("own-") for job in own_jobs(specs))
    with pytest.raises(UserError, match=r"^settings: two jobs have the name 'own-one-0+'; rename"):
        own_jobs([*specs, other], settings=settings)


def key_of(spec):
    (job,) = own_jobs([spec])
    return job.key


def drawing_of(spec):
    return drawings(own_plan([spec]))["one"].key


def test_keys_follow_versions_and_libraries_and_not_what_decides_no_run(monkeypatch):
    found = {key_of(SPEC)}, {drawing_of(SPEC)}
    changes = [
        ("ngo.training.results_version.RESULTS_VERSION", 10**6),
        ("ngo.common.versions.installed", lambda: {**installed, "torch": "99.0"}),
        ("ngo.pipeline.jobs.identity", lambda name: "another content"),
    ]
    installed = versions.installed()
    for name, value in changes:
        with monkeypatch.context() as patched:
            patched.setattr(name, value)
            found[0].add(key_of(SPEC))
            found[1].add(drawing_of(SPEC))
    assert len(found[0]) == len(found[1]) == 1 + len(changes)
    assert key_of(SPEC) in found[0]
    config = config_of()
    before = keys_of(listed(jobs(plan_of(config))))
    resources = {"train": {"mem_mb": 7, "runtime": 7}, "measure": {"mem_mb": 7, "runtime": 7}}
    other = {**config, "threads": 7, "device": "cuda", "resources": resources, "network": {}}
    assert keys_of(listed(jobs(plan_of(other)))) == before
    case = {"settings": ["digits_iid"], "compare": [{"lr": 0.123}]}
    more = {**config, "training": {**config["training"], "own": case}}
    after = keys_of(listed(jobs(plan_of(more))))
    assert after.items() >= before.items()
    assert set(after) - set(before) == {"own-digits_iid"}


def test_a_job_requests_the_memory_of_its_data_and_the_time_of_its_runs():
    (job,) = own_jobs([resolve({"epochs": 0.01, "seed": seed}) for seed in range(3)])
    resources = {"mem_mb": 500, "runtime": 20, "mem_mb_of": {"mnist": 900}}
    assert job.memory(resources) == 900
    assert job.memory({"mem_mb": 500, "runtime": 20}) == 500
    assert job.minutes(resources) == 60
    assert job.cost == pytest.approx(3 * job.combinations[0].cost)
    assert job.table == "results/demo/jobs/own-one.parquet"


@pytest.mark.parametrize("content", [None, "{}", "\udcff"])
def test_a_file_that_does_not_hash_to_the_key_is_refused_in_a_line(content, tmp_path):
    path = tmp_path / "job.json"
    if content is not None:
        path.write_text(content, errors="surrogateescape")
    reason = "was changed after the job was planned; run snakemake again."
    reason = "does not exist." if content is None else reason
    assert mistake_of(read_job, path, key_of(SPEC)) == f"job: {str(path)!r} {reason}"
    path.write_text("{}")
    assert read_job(path, hashed("{}")) == {}


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
    told = mistake_of(workflow_start.check, plan, configs, forced=forced)
    assert sorted(map(str, Path.cwd().rglob("*"))) == before
    return told


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
