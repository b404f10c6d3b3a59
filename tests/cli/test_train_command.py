import json
from pathlib import Path

import pandas as pd
import pytest
from cases import cases
from command_line import SMALL, mistake, ngo
from runs import digits_run

from ngo.cli import run_training
from ngo.cli.options import spec_of_options
from ngo.pipeline.jobs import Combination, Drawing, Job
from ngo.pipeline.paths import RUNS, job_table, partition_file
from ngo.pipeline.workflow_start import write_files
from ngo.training.checkpoint import Stopped
from ngo.training.partition_file import train_labels
from ngo.training.spec_checks import draw


def test_a_run_by_flags_and_again_by_its_record(tmp_path):
    out = ngo("train", *SMALL, "--method", "ngo", "--p", "0.8", "--out", tmp_path / "a")
    assert "digits-iid-ring-ngo-p0.8-s0-" in out
    record = json.loads((tmp_path / "a/run.json").read_text())
    ngo(*record["command"][1:], "--device", "cpu", "--out", tmp_path / "c")
    assert json.loads((tmp_path / "c/run.json").read_text())["id"] == record["id"]
    first, second = (pd.read_parquet(tmp_path / name / "metrics.parquet") for name in ("a", "c"))
    pd.testing.assert_frame_equal(first, second)


def test_results_stay_where_out_was_when_a_plugin_moves(own_entries, tmp_path, monkeypatch):
    """Also while it is imported."""
    (tmp_path / "moving.py").write_text(
        "import os, ngo\n"
        "os.chdir('/')\n"
        "@ngo.method('moving', fields=('topology', 'gamma', 'gamma_decay', 'coupling', 'p'))\n"
        "def moving(step):\n"
        "    os.chdir('/')\n"
        "    step.descend(); step.gossip()\n"
    )
    monkeypatch.chdir(tmp_path)
    ngo("train", "--plugin", "moving.py", *SMALL, "--method", "moving", "--out", "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"metrics.parquet", "run.json"}


@pytest.fixture
def job(tmp_path, monkeypatch):
    """The words that draw the partitions of a job of four runs, and those that train it."""
    monkeypatch.chdir(tmp_path)
    return planned("gossip", "ngo")


def planned(*methods, **fields):
    specs = [digits_run(seed=seed, method=m, **fields) for m in methods for seed in (0, 1)]
    cut = tuple(Combination(tuple(specs[k : k + 2])) for k in range(0, len(specs), 2))
    made = Job("own", job_table("test", "own"), "one", cut, {specs[0].id: ["final"]})
    drawing = Drawing(partition_file("test", "one"), tuple(specs[:2]))
    write_files([made, drawing])
    parts = partition_file("test", "one")
    draw = ["partition", "--job", drawing.file, "--key", drawing.key, "--out", parts]
    return draw, [*job_of(made), "--partition-file", parts], made


def test_a_share_below_the_batch_is_refused_before_another_seed_trains(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how = {"partition": "dirichlet", "beta": 0.4, "workers": 5}
    labels = train_labels("digits", tmp_path)
    least = [min(map(len, draw(digits_run(**how, seed=seed), labels))) for seed in (0, 1)]
    assert least[1] < least[0]
    ask, train, _ = planned("gossip", **how, batch_size=least[0])
    ngo(*ask)
    line = ngo(*train, code=2).splitlines()[-1]
    assert line.startswith(f"ngo: batch_size: {least[0]} is larger than worker ")
    assert f"share of {least[1]} samples" in line
    assert "seed 1" in line
    assert not any(tmp_path.rglob("metrics.parquet"))


def job_of(made):
    return ["train", "--job", made.file, "--key", made.key, "--device", "cpu"]


def test_a_job_trains_its_runs_as_they_are_trained_by_hand(job, tmp_path):
    draw, train, made = job
    assert ngo(*draw) == f"2 partitions → {tmp_path}/results/test/partitions/one.parquet\n"
    told = ngo(*train)
    assert told.endswith("→ results/test/jobs/own.parquet\n")
    assert all(f"\n{spec.id}: " in f"\n{told}" for spec in made.runs)
    for threads, spec in enumerate(made.runs[1:3], start=1):
        out = tmp_path / f"by-hand-{threads}"
        ngo("train", *spec.flags(), "--device", "cpu", "--threads", threads, "--out", out)
        alone = (out / "metrics.parquet").read_bytes()
        assert (RUNS / spec.id / "metrics.parquet").read_bytes() == alone
    assert [(RUNS / spec.id / "models.pt").exists() for spec in made.runs] == [True] + 3 * [False]
    table = Path(made.table).read_bytes()
    assert ngo(*train) == "→ results/test/jobs/own.parquet\n"
    assert Path(made.table).read_bytes() == table
    assert {path.name for path in RUNS.iterdir()} == {spec.id for spec in made.runs}


def test_a_job_needs_the_partitions_of_its_setting_whole(job):
    draw, train, made = job
    assert mistake(*job_of(made)) == "partition_file: a job needs the partitions of its setting."
    ngo(*draw)
    parts = Path(train[-1])
    parts.write_bytes(parts.read_bytes()[:-9])
    line = ngo(*train, code=2).splitlines()[-1]
    assert line.startswith(f"ngo: partition-file: {str(parts)!r} is the wrong ")
    assert line.endswith("the sum that it carries.")
    assert not Path(made.table).exists()
    ngo(*draw)
    ngo(*train)
    assert Path(made.table).exists()


def test_a_stopped_run_exits_with_the_signals_code(tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise Stopped(15, 3, 9, resumes=True)

    monkeypatch.setattr(run_training.training_run, "run", stopped)
    out = ngo("train", *SMALL, "--out", tmp_path / "run", code=128 + 15)
    assert out.splitlines()[-1] == "ngo: stopped at step 3 of 9; the same command resumes"


def test_a_value_without_effect_is_named(tmp_path):
    out = ngo("train", *SMALL, "--method", "gossip", "--p", "0.8", "--out", tmp_path / "a")
    assert "note: p 0.8 has no effect here: it is 1" in out
    out = ngo("train", *SMALL, "--method", "centralized", "--topology", "ring", "--out", tmp_path)
    assert "note: topology ring has no effect here: it is not used" in out
    own_rule = ("--method", "quasi_global", "--local-rule", "adam")
    out = ngo("train", *SMALL, *own_rule, "--out", tmp_path / "b")
    assert "note: local_rule adam has no effect here: it is 'sgd'" in out


def test_the_default_model_classifies_if_one_that_fits_does():
    for dataset, model in (("digits", "mnist_cnn"), ("cifar10", "cifar10_cnn")):
        assert spec_of_options({"dataset": dataset, "batch_size": 4}).model == model


SINE, VAE = ["--dataset", "sine"], ["--dataset", "digits", "--task", "vae"]


@cases("how, model, task", (SINE, "toy_net", "regression"), (VAE, "mnist_vae", "vae"))
def test_the_model_follows_the_data_and_the_task_the_model(tmp_path, how, model, task):
    ngo("train", *how, "--workers", "2", "--batch-size", "4", "--epochs", "1e-3", "--out", tmp_path)
    spec = json.loads((tmp_path / "run.json").read_text())["spec"]
    assert (spec["model"], spec["task"]) == (model, task)
