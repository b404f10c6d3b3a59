"""Runs in several processes, for tests: how they start, what happens to them, and time limits."""

import json
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count

import numpy as np
import psutil
import pytest
from torch import nn

from ngo.common.parquet_columns import read_columns
from ngo.distributed import process_run
from ngo.distributed.process_run import launch
from ngo.distributed.rendezvous import Place, Rendezvous
from ngo.engine.population import Population
from ngo.models.layers import Dropout
from ngo.models.model import MODELS, Model
from ngo.training import run as simulated_run
from ngo.training.spec import DEFAULTS
from ngo.training.spec_checks import resolve

# Seconds after which the processes of a test are killed. They need a few.
LIMIT = 120.0

# The number of samples in the test set of the digits.
TEST_SAMPLES = 360


def smooth(generator):
    """A model that does not amplify rounding errors: without ReLU and pooling, it has no ties."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 16), nn.Tanh(), Dropout(generator), nn.Linear(16, 10)
    )


SMOOTH = Model(smooth, input_shape=(1, 28, 28), task="classification")


@pytest.fixture(scope="module", autouse=True)
def surroundings():
    """One OpenMP thread, and the model ``smooth``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setitem(MODELS, "smooth", SMOOTH)
        yield


def rendezvous_of(store, me, size, timeout=20.0):
    """The rendezvous of ``size`` processes, as seen by one, without an environment."""
    return Rendezvous(Place(me, size, "host", 29500, 0, 1, holds_store=me == 0), store, timeout)


def spec_of(**values):
    small = {"dataset": "digits", "batch_size": 16, "epochs": 0.5, "eval_every": 0.2, "lr": 0.1}
    return resolve({}, {**DEFAULTS, **small, "model": "smooth", **values})


def convex_spec(**values):
    small = {"dataset": "least_squares", "model": "linear", "task": "regression", "lr": 0.02}
    return spec_of(**{**small, **values})


def simulated(spec, tmp_path):
    """The metrics of the simulated run."""
    simulated_run.run(spec, tmp_path / "simulated", tmp_path)
    return read_columns(tmp_path / "simulated/metrics.parquet", "metrics")[0]


def distributed(spec, processes, tmp_path, scenario=None, timeout=20.0, **how):
    """The metrics of the distributed run, their facts, and ``distributed`` of its run.json.

    Each process calls ``scenario``, if it is given, with the function that takes part in the run.
    """
    out = tmp_path / "distributed"
    work = partial(
        process_run.run,
        *(spec, out, tmp_path),
        **{"device": "cpu", "timeout": timeout, **how},
    )
    with ended_within(LIMIT):
        launch(partial(prepared, scenario, work), processes)
    record = json.loads((out / "run.json").read_text())
    return *read_columns(out / "metrics.parquet", "metrics"), record["distributed"]


def prepared(scenario, work):
    """Call ``work`` in a new process, which knows only what this module imports."""
    MODELS.setdefault("smooth", SMOOTH)
    scenario(work) if scenario else work()


def assert_equal_runs(ours, theirs):
    """Metrics are equal up to rounding; integers are equal."""
    assert ours.keys() == theirs.keys()
    for name in ours:
        if "accuracy" in name:
            assert ours[name] == pytest.approx(theirs[name], abs=1.01 / TEST_SAMPLES, nan_ok=True)
        elif ours[name].dtype.kind == "f":
            # A standard deviation has the absolute error of the values.
            least = 1e-6 * theirs["workers_loss_mean"].max() if name.endswith("_std") else 1e-9
            assert ours[name] == pytest.approx(theirs[name], rel=1e-4, abs=least, nan_ok=True), name
        else:
            assert np.array_equal(ours[name], theirs[name]), name


@contextmanager
def ended_within(seconds):
    """Kill the processes that are started in this block, and fail, if it takes longer."""
    before = set(psutil.Process().children(recursive=True))
    late = threading.Event()

    def kill():
        late.set()
        for process in set(psutil.Process().children(recursive=True)) - before:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    timer = threading.Timer(seconds, kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if late.is_set():
            pytest.fail(f"still running after {seconds:g} s")


def only(process, event, work):
    """Scenario: ``event`` is called in one process before it takes part."""
    if int(os.environ["RANK"]) == process:
        event()
    work()


def at_step(step, process, event, work):
    """Scenario: one process calls ``event`` before each gradient from ``step`` on."""
    steps, original = count(), Population.gradients

    def gradients(*arguments):
        if next(steps) >= step:
            event()
        return original(*arguments)

    only(process, partial(setattr, Population, "gradients", gradients), work)


def end():
    """Event: the process is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def freeze():
    """Event: the process is suspended."""
    os.kill(os.getpid(), signal.SIGSTOP)


def stderr_to(file, scenario, work):
    """Scenario: the process writes its errors to ``file``.

    All processes are forks of one server, whose standard error may be that of an earlier test.
    """
    sys.stderr.flush()
    os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    scenario(work) if scenario else work()
