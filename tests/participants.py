"""Runs in processes, for tests: what is run, what befalls a process, and an end to all waiting."""

import json
import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count

import psutil
import pytest
from torch import nn

from ngo import columns, training
from ngo.distributed import run
from ngo.layers import Dropout
from ngo.ledger import Ledger
from ngo.models import MODELS, Model
from ngo.network import Network
from ngo.population import Population
from ngo.processes import Group, launch
from ngo.spec import DEFAULTS, resolve

# Seconds after which the processes of a test are killed. They need a few.
LIMIT = 120.0


def smooth(generator):
    """A network that does not magnify rounding: it has no ReLU and no pooling, whose ties would."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 16), nn.Tanh(), Dropout(generator), nn.Linear(16, 10)
    )


SMOOTH = Model(smooth, input_shape=(1, 28, 28), task="classification")


@pytest.fixture(scope="module", autouse=True)
def surroundings():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setitem(MODELS, "smooth", SMOOTH)
        yield


def spec_of(**values):
    small = {"dataset": "digits", "batch_size": 16, "epochs": 0.5, "eval_every": 0.2, "lr": 0.1}
    return resolve({}, {**DEFAULTS, **small, "model": "smooth", **values})


def convex_spec(**values):
    small = {"dataset": "least_squares", "model": "linear", "task": "regression", "lr": 0.02}
    return spec_of(**{**small, **values})


def simulated(spec, tmp_path):
    training.run(spec, tmp_path / "simulated", tmp_path)
    return columns.read(tmp_path / "simulated/metrics.parquet", "metrics")[0]


def distributed(spec, processes, tmp_path, befalls=None, timeout=20.0, on_failure="stop", **how):
    """The metrics, their facts, and what run.json says of the processes."""
    out = tmp_path / "distributed"
    work = partial(
        run, spec, out, tmp_path, device="cpu", timeout=timeout, on_failure=on_failure, **how
    )
    with ended_within(LIMIT):
        launch(partial(prepared, befalls, work), processes, timeout=timeout, on_failure=on_failure)
    record = json.loads((out / "run.json").read_text())
    return *columns.read(out / "metrics.parquet", "metrics"), record["distributed"]


def prepared(befalls, work):
    """Do ``work`` in a process of its own, where this module may be all that it knows of."""
    MODELS.setdefault("smooth", SMOOTH)
    befalls(work) if befalls else work()


@contextmanager
def ended_within(seconds):
    """Kill what is started in this block, and fail, if it takes longer."""
    there = set(psutil.Process().children(recursive=True))
    late = threading.Event()

    def kill():
        late.set()
        for process in set(psutil.Process().children(recursive=True)) - there:
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


def only(process, befalls, work):
    """Do ``work``, with something that befalls one process."""
    if int(os.environ["RANK"]) == process:
        befalls()
    work()


def at_step(step, process, what, work):
    """Do ``work``, with something done by one process before it computes a gradient."""
    steps, original = count(), Population.gradients

    def befallen(*arguments):
        if next(steps) >= step:
            what()
        return original(*arguments)

    only(process, partial(setattr, Population, "gradients", befallen), work)


def end():
    os.kill(os.getpid(), signal.SIGKILL)


def freeze():
    os.kill(os.getpid(), signal.SIGSTOP)


def slow():
    time.sleep(0.03)


def in_evaluation(step, process, moment, work):
    """Do ``work``, with a process that dies in the evaluation of ``step``: before its report is
    sent; before it has (or gives) the leader's answer, after the row is recorded; or as the leader
    that is about to write the files.
    """
    me = int(os.environ["RANK"]) == process
    conclude, exchange, record = Network.conclude, Group.exchange, Ledger.record
    now = []

    def concluding(network, t, report, recorded):
        now[:] = [t]
        if me and t == step and moment == "before its report":
            end()
        return conclude(network, t, report, recorded)

    def exchanging(group, send, *rest):
        waits = me and group.me != group.leader and now == [step] and not send
        if waits and moment == "before the answer":
            wait_for(lambda: group.store.check(["recorded"]))
            end()
        return exchange(group, send, *rest)

    def recording(ledger, t, reports):
        ends = record(ledger, t, reports)
        if t == step and moment == "before the answer":
            if me:
                end()
            store = ledger._store
            store.set("recorded", "")
            wait_for(lambda: store.check([f"ended/{process}"]))
        return ends

    Network.conclude, Group.exchange, Ledger.record = concluding, exchanging, recording
    if me and moment == "before the files":
        training.leave = lambda *arguments, **named: end()
    work()


def wait_for(said):
    while not said():
        time.sleep(0.01)
