import hashlib
import json

import numpy as np
import torch
from runs import digits_run, run_in, tiny

from ngo.common import plugins
from ngo.training import record
from ngo.training.problem import make_problem
from ngo.training.record import last_evaluation, make_origin
from ngo.training.resolve import resolve
from ngo.training.results_version import results_version
from ngo.training.run import run


def given(values):
    return {name: value for name, value in values.items() if value is not None}


def test_a_record_says_which_run_it_was(tmp_path):
    spec = digits_run(epochs=0.1, topology="random", u=0.3)
    run_in(spec, tmp_path)
    found = json.loads((tmp_path / "run.json").read_text())
    assert found["id"] == spec.id
    assert resolve(given(found["spec"])) == spec
    assert found["command"] == ["ngo", "train", *spec.flags()]
    assert found["versions"]["torch"] == torch.__version__
    assert found["versions"]["kernels"] == record.kind("cpu")["kernels"]
    assert {"source", "device", "backend", "wall_seconds", "started", "seed"} <= found.keys()
    assert found["about"].keys().isdisjoint(found["spec"])
    assert found["about"]["code"] == results_version(spec)
    metrics = (tmp_path / "metrics.parquet").read_bytes()
    assert found["metrics_sha256"] == hashlib.sha256(metrics).hexdigest()


def test_a_record_names_plugins_and_their_hashes(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    mine = tmp_path / "mine.py"
    mine.write_text("THREE = 3\n")
    plugins.load([mine], "plugins")
    run_in(tiny(), tmp_path / "run")
    (entry,) = json.loads((tmp_path / "run/run.json").read_text())["plugins"]
    assert entry["file"] == "mine.py"
    assert len(entry["sha256"]) == 64


def test_the_last_evaluation_is_read_from_the_metrics(tmp_path):
    last = run(tiny(), tmp_path, tmp_path)
    assert repr(last_evaluation(tmp_path, last.seconds)) == repr(last)


def test_the_origin_depends_on_the_parts_and_the_models_to_keep(digits):
    spec = digits_run()
    problem = make_problem(spec, digits)
    about = make_origin(spec, problem, "cpu").about
    assert about == make_origin(spec, problem, "cpu").about
    assert make_origin(spec, problem, "cpu", snapshots=[3, "final"]).about["snapshots"] == [
        "3", "final",
    ]  # fmt: skip
    other = make_problem(spec, digits, [np.sort(part)[::-1].copy() for part in problem.parts])
    assert make_origin(spec, other, "cpu").about["parts"] != about["parts"]
    assert about["train_samples"] == len(digits.train_inputs)
