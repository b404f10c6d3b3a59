"""Short runs, and what they leave in a folder."""

import json
import os
import signal

import numpy as np
import pytest
import torch

from ngo.common.registries import MODELS
from ngo.common.seeding import torch_stream
from ngo.engine.population import Population
from ngo.native.threads import one_intra_op_thread
from ngo.training.checkpoint import Stopped
from ngo.training.learning_problem import make_problem
from ngo.training.run import Training, run
from ngo.training.snapshots import save_snapshots
from ngo.training.spec import FIELDS
from ngo.training.spec_checks import check_snapshots, resolve

CONVEX = {"dataset": "least_squares", "model": "linear", "task": "regression"}
PARTS = [np.arange(k, 6400, 3) for k in range(3)]


def defaults():
    """The default of each field of a run."""
    return {name: field.default for name, field in FIELDS.items()}


def digits_run(**values):
    """A run on digits, evaluated twice in each epoch."""
    small = {"dataset": "digits", "batch_size": 16, "epochs": 1.0, "workers": 4, "eval_every": 0.5}
    return resolve({}, {**defaults(), **small, **values})


def short_run(**values):
    """A run on digits of 18 steps."""
    small = {"dataset": "digits", "batch_size": 16, "workers": 3, "eval_every": 0.07}
    return resolve({}, {**defaults(), **small, "epochs": 0.2, **values})


def tiny(**values):
    """A run of some hundredths of a second, with evaluations after 0, 3, 6, … 30 steps."""
    return short_run(**{**CONVEX, "epochs": 0.225, "eval_every": 0.0225, **values})


@one_intra_op_thread()
def train(spec, data, parts=None, *, snapshots=(), threads=1, **told):
    """A run in memory: its training, at its end."""
    problem = make_problem(spec, data, parts)
    check_snapshots(spec, snapshots, problem.last_step)
    training = Training(spec, problem, snapshots=snapshots, threads=threads)
    training.proceed(**told)
    return training


def trained(spec, data, **how):
    """The evaluations and the population of a run in memory."""
    training = train(spec, data, **how)
    return training.rows, training.population


def without_clock(rows):
    return [{k: v for k, v in vars(row).items() if k != "seconds"} for row in rows]


def run_in(spec, folder, **how):
    """Train ``spec`` in ``folder``; the lines that it logged."""
    told = []
    run(spec, folder, folder, tell=told.append, **{"threads": 1, **how})
    return told


def stop_at(last):
    """A ``progress`` that sends SIGTERM to this process after the step ``last``."""

    def progress(step):
        if step == last:
            os.kill(os.getpid(), signal.SIGTERM)

    return progress


def interrupted(spec, folder, step=5, **how):
    """The path of the checkpoint of a run stopped after ``step``."""
    with pytest.raises(Stopped, match=f"stopped at step {step} of"):
        run_in(spec, folder, progress=stop_at(step), **how)
    return folder / "checkpoint.pt"


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def left(folder):
    """The files of a run, byte by byte; of its record, without what measures the machine."""
    record = json.loads((folder / "run.json").read_text())
    for key in ("started", "wall_seconds", "evaluation_seconds", "resumed_at_steps"):
        record.pop(key, None)
    models = folder / "models.pt"
    kept = models.read_bytes() if models.exists() else None
    return (folder / "metrics.parquet").read_bytes(), record, kept


def resumed(folder):
    return json.loads((folder / "run.json").read_text())["resumed_at_steps"]


def keep_models(path, steps=(3,), spread=0.1, **given):
    """Write the models of three workers that differ by noise of this spread; return the run and its
    snapshots.
    """
    spec = resolve({"workers": 3, "batch_size": 4, "task": MODELS[given["model"]].task, **given})
    population = Population(spec.model, spec.workers, spec.seed)
    noise = torch.randn(population.X.shape, generator=torch_stream(spec.seed, "test"))
    X = population.X + spread * noise
    snapshots = {step: {"X": X * step, "buffers": population.buffers.clone()} for step in steps}
    save_snapshots(path, spec, snapshots)
    return spec, snapshots
