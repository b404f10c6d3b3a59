"""Runs in several processes are the simulated ones: how they start, and what happens to them."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import count

import numpy as np
import psutil
import pytest
from cases import cases, refused
from runs import defaults
from torch import nn

from ngo.common.files import try_lock
from ngo.common.parquet_columns import read_columns
from ngo.common.registries import MODELS
from ngo.data import loading
from ngo.distributed import process_run
from ngo.distributed.process_run import check, launch
from ngo.engine.population import Population
from ngo.models.layers import Dropout
from ngo.models.model import Model
from ngo.training import run as simulated_run
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

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


def spec_of(**values):
    small = {"dataset": "digits", "batch_size": 16, "epochs": 0.5, "eval_every": 0.2, "lr": 0.1}
    return resolve({}, {**defaults(), **small, "model": "smooth", **values})


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
    how = {"device": "cpu", "timeout": timeout, **how}
    work = partial(process_run.run, spec, out, tmp_path, **how)
    with ended_within(LIMIT):
        launch(partial(prepared, scenario, work), processes)
    record = json.loads((out / "run.json").read_text())
    return *read_columns(out / "metrics.parquet", "metrics"), record["distributed"]


def prepared(scenario, work):
    """Call ``work`` in a new process, which knows only what this module imports."""
    MODELS["smooth"] = SMOOTH
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


@cases(
    "processes, fields",
    (2, {"topology": "complete", "holdout": 0.2, "partition": "shards", "shards": 10}),
    (4, {"topology": "random", "method": "delayed", "delay": 2}),
    (3, {"topology": "complete", "method": "gossip_until", "v_threshold": 0.005}),
    (4, {"topology": "random", "p": 0.5, "gamma": 0.001, "u": 0.3}),
    (4, {"topology": "ring", "link_failure": 0.3, "absence": 0.2, "weight_decay": 0.01}),
    (4, {"topology": "ring", "attack": "dissensus", "coupling": "clipped"}),
)
def test_a_distributed_run_is_the_simulated_one(processes, fields, tmp_path):
    """With a model that does not amplify rounding errors. At p = 1/2, where the coupling jumps at
    0, it has ten parameters, whose differences are far from 0.
    """
    jumps = fields.get("p") == 0.5
    make = partial(convex_spec, epochs=0.35, eval_every=0.15) if jumps else spec_of
    spec = make(workers=processes, **fields)
    theirs = simulated(spec, tmp_path)
    ours, facts, how = distributed(spec, processes, tmp_path)
    assert_equal_runs(ours, theirs)
    assert len(theirs["step"]) == 4
    assert facts["run"] == spec.id
    # What is counted where tensors are sent agrees with the metrics.
    traffic = how["evaluations"]
    assert [row["models_sent"] for row in traffic] == theirs["messages"].tolist()
    assert [row["bytes_sent"] for row in traffic] == theirs["bytes_sent"].tolist()


def test_several_workers_share_a_process(tmp_path):
    """Models are sent once to each process that needs them, and not within a process."""
    spec = convex_spec(workers=5, topology="ring")
    ours, _, how = distributed(spec, 2, tmp_path)
    assert_equal_runs(ours, simulated(spec, tmp_path))
    # Workers 0, 1 | 2, 3, 4: on the ring 1–2 and 0–4 cross, in both directions.
    steps = int(ours["step"][-1])
    assert how["evaluations"][-1]["models_sent"] == 4 * steps
    assert ours["messages"][-1] == 10 * steps


def test_a_folder_that_holds_a_run_is_safe(tmp_path):
    """The same run is a no-op; another spec, mode or number of processes is refused."""
    spec, out = convex_spec(workers=3, epochs=0.05), tmp_path / "distributed"
    distributed(spec, 2, tmp_path)

    def contents():
        return {path.name: path.read_bytes() for path in out.iterdir()}

    before = contents()
    assert sorted(before) == ["metrics.parquet", "run.json"]
    distributed(spec, 2, tmp_path)
    assert contents() == before  # with the times of the first
    holds = f"out: .* holds the finished run {spec.id}, with"
    other = convex_spec(workers=3, epochs=0.05, lr=0.01)
    refused(f"{holds} lr 0.02 and not 0.01; .* with --overwrite", distributed, other, 2, tmp_path)
    refused(f"{holds} distributed .*'processes': 2.* and not .*: 3", distributed, spec, 3, tmp_path)
    refused(f"{holds} distributed .* and not None", simulated_run.run, spec, out, tmp_path)
    assert contents() == before
    (out / "checkpoint.pt").write_text("of a simulated run")
    refused("holds the checkpoint of a simulated run", distributed, spec, 2, tmp_path)
    distributed(other, 2, tmp_path, overwrite=True)
    assert sorted(contents()) == ["metrics.parquet", "run.json"]
    assert json.loads((out / "run.json").read_text())["id"] == other.id


def test_a_locked_folder_is_refused(tmp_path):
    (tmp_path / "distributed").mkdir()
    message = "another run is at work in '.*/distributed'"
    with try_lock(tmp_path / "distributed/.lock"), pytest.raises(UserError, match=message):
        distributed(convex_spec(workers=3, epochs=0.05), 2, tmp_path)


def die_at_the_data():
    loading.load = lambda *arguments: end()


@cases("scenario", partial(only, 2, die_at_the_data), partial(at_step, 5, 2, end))
def test_a_lost_process_ends_the_run(scenario, tmp_path):
    with pytest.raises(UserError, match="^distributed: process 2 of 3 was killed by SIGKILL.$"):
        distributed(convex_spec(workers=3), 3, tmp_path, scenario)
    assert not list((tmp_path / "distributed").glob("*.*"))


def test_a_silent_process_ends_the_run(tmp_path):
    scenario = partial(at_step, 5, 1, freeze)
    with pytest.raises(UserError, match="silent for longer than --timeout 2.5: "):
        distributed(convex_spec(workers=3), 3, tmp_path, scenario, timeout=2.5)


def test_mistakes_are_one_line(tmp_path):
    lies, late = {"attack": "alie"}, {"clock": "waiting"}
    for name, processes, fields, line in (
        ("out", 2, {}, None),
        ("out", 2, lies, None),
        ("out", 5, {}, "processes: 5 is not allowed; it must be 4"),
        ("", 2, {}, ".* a simulated run has this name"),
        ("out", 2, late, "clock: 'waiting' is .* have real time"),
    ):
        spec = spec_of(workers=4, **fields)
        with nullcontext() if line is None else pytest.raises(UserError, match=f"^{line}[^\n]*$"):
            check(spec, tmp_path / (name or spec.id), processes)


def test_torchrun_starts_the_processes(tmp_path):
    spec = convex_spec(workers=2, topology="complete", epochs=0.5)
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    train = ["ngo", "train", "--distributed", *spec.flags(), "--device", "cpu"]
    places = ["--data-root", str(tmp_path), "--out", str(tmp_path / "torchrun")]
    command = [sys.executable, "-m", *torchrun, "-m", "--", *train, *places]
    with ended_within(LIMIT):
        subprocess.run(command, check=True, capture_output=True)
    ours, _ = read_columns(tmp_path / "torchrun/metrics.parquet", "metrics")
    assert_equal_runs(ours, simulated(spec, tmp_path))


def test_a_mistake_is_reported_once(tmp_path):
    parts = [np.arange(1000), np.arange(1000, 1427), np.arange(1427, 1437)]
    scenario = partial(stderr_to, tmp_path / "errors", None)
    with pytest.raises(UserError, match="batch_size: 16 is larger than worker 2's share of 10"):
        distributed(spec_of(workers=3), 3, tmp_path, scenario, parts=parts)
    assert (tmp_path / "errors").read_text() == ""


def note_listeners(launcher, file):
    """Write down where the processes of a launcher listen, and the interface that they use."""
    started = psutil.Process(launcher).children(recursive=True)
    sockets = [
        (process.pid, connection.laddr.ip)
        for process in [psutil.Process(launcher), *started]
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    file.write_text(json.dumps([sockets, os.environ["GLOO_SOCKET_IFNAME"]]))


def test_processes_on_one_machine_listen_on_the_loopback_address_only(tmp_path, monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    file = tmp_path / "listeners"
    noted = partial(note_listeners, os.getpid(), file)
    distributed(convex_spec(workers=2, epochs=0.01), 2, tmp_path, partial(at_step, 1, 0, noted))
    sockets, interface = json.loads(file.read_text())
    assert len({process for process, _ in sockets}) == 3  # the launcher's store, and two processes
    assert {address for _, address in sockets} == {"127.0.0.1"}
    # gloo's default is the address of the host's name, which may be the same.
    assert "127.0.0.1" in {address.address for address in psutil.net_if_addrs()[interface]}
