import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import count, islice

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from ngo import columns, datasets, training
from ngo.cli import main
from ngo.consensus import synchronization_index
from ngo.distributed import check, run
from ngo.graphs import mixing_stream, without
from ngo.network import joint, moments
from ngo.shares import share, shares
from ngo.partition_file import draw
from ngo.population import Population
from ngo.processes import launch
from ngo.protocols import PROTOCOLS, Protocol
from ngo.registry import UserError
from ngo.seeding import torch_stream
from ngo.spec import DEFAULTS, resolve

TEST_SAMPLES = 360
PARAMETERS = 21_840


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


def spec_of(**values):
    small = {"dataset": "digits", "batch_size": 16, "epochs": 0.5, "eval_every": 0.2, "lr": 0.1}
    return resolve({}, {**DEFAULTS, **small, **values})


def small_spec(**values):
    small = {"dataset": "least_squares", "model": "linear", "task": "regression", "workers": 3}
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
    if befalls:
        work = partial(befalls, work)
    launch(work, processes, timeout=timeout, on_failure=on_failure)
    record = json.loads((out / "run.json").read_text())
    return *columns.read(out / "metrics.parquet", "metrics"), record["distributed"]


def at_step(step, process, what, work):
    """Do ``work``, with something done by one process before it computes a gradient."""
    if int(os.environ["RANK"]) == process:
        steps, original = count(), Population.gradients

        def befallen(*arguments):
            if next(steps) >= step:
                what()
            return original(*arguments)

        Population.gradients = befallen
    work()


def end():
    os.kill(os.getpid(), signal.SIGKILL)


def freeze():
    os.kill(os.getpid(), signal.SIGSTOP)


def slow():
    time.sleep(0.03)


def assert_equal_runs(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name in ours.keys() - {"seconds"}:
        if "accuracy" in name:
            assert ours[name] == pytest.approx(theirs[name], abs=1.01 / TEST_SAMPLES, nan_ok=True)
        elif ours[name].dtype.kind == "f":
            # A spread has the digits of what it is a spread of.
            least = 1e-6 * theirs["workers_loss_mean"].max() if name.endswith("_std") else 1e-9
            assert ours[name] == pytest.approx(theirs[name], rel=1e-4, abs=least, nan_ok=True), name
        else:
            assert np.array_equal(ours[name], theirs[name]), name


@pytest.mark.parametrize(
    ("processes", "fields"),
    [
        (2, {"topology": "ring"}),
        (2, {"topology": "random", "protocol": "gossip"}),
        (2, {"topology": "complete", "holdout": 0.2}),
        (4, {"topology": "ring", "protocol": "delayed", "delay": 2}),
        (4, {"topology": "random", "protocol": "delayed", "delay": 2, "p": 1.0}),
        (4, {"topology": "complete", "protocol": "local_sgd", "local_steps": 3}),
        (4, {"topology": "complete", "protocol": "gossip_until", "v_threshold": 0.005}),
        (5, {"topology": "ring", "protocol": "gossip", "gamma_decay": 0.5}),
        (5, {"topology": "random", "p": 0.5, "gamma": 0.001, "u": 0.3}),
        (5, {"topology": "complete", "partition": "shards", "shards": 10}),
    ],
)
def test_a_distributed_run_is_the_simulated_one(processes, fields, tmp_path):
    spec = spec_of(workers=processes, **fields)
    theirs = simulated(spec, tmp_path)
    ours, facts, how = distributed(spec, processes, tmp_path)
    assert_equal_runs(ours, theirs)
    assert len(theirs["step"]) == 4
    assert facts["run"] == spec.id
    assert how["mode"] == "synchronous"
    assert how["lost"] == []
    # What was counted where tensors are handed to the network is what the metrics say.
    traffic = how["evaluations"]
    assert [row["models_sent"] for row in traffic] == theirs["messages"].tolist()
    assert [row["bytes_sent"] for row in traffic] == theirs["bytes_sent"].tolist()
    assert all(row["staleness_max"] == 0 for row in traffic)


def test_a_long_run_stays_the_simulated_one(tmp_path):
    """On a convex problem, where rounding is not magnified."""
    spec = small_spec(workers=5, topology="random", epochs=15.0, eval_every=5.0, lr=0.02)
    theirs = simulated(spec, tmp_path)
    ours, _, _ = distributed(spec, 2, tmp_path)
    assert_equal_runs(ours, theirs)
    assert theirs["step"][-1] >= 300


@pytest.mark.parametrize("topology", ["ring", "complete"])
def test_several_workers_share_a_process(topology, tmp_path):
    """Models cross the network once for each process that needs them, and not within one."""
    spec = spec_of(workers=5, topology=topology)
    ours, _, how = distributed(spec, 2, tmp_path)
    assert_equal_runs(ours, simulated(spec, tmp_path))
    # Workers 0, 1 | 2, 3, 4: on the ring 1–2 and 0–4 cross; else all five models do.
    steps = int(ours["step"][-1])
    crossing = {"ring": 4, "complete": 5}[topology]
    assert how["evaluations"][-1]["models_sent"] == crossing * steps
    assert ours["messages"][-1] == {"ring": 10, "complete": 20}[topology] * steps


def test_a_parameter_server_is_centralized_sgd(tmp_path):
    spec = spec_of(workers=4, protocol="centralized")
    ours, _, how = distributed(spec, 4, tmp_path)
    assert_equal_runs(ours, simulated(spec, tmp_path))
    assert (ours["V"] == 0).all()
    assert how["evaluations"][-1]["models_sent"] == 0  # gradients and the model are no gossip


def after_a_loss(spec, parts, data, lost, step):
    """The workers of a run on a complete graph that loses one before its gradient of ``step``:
    in that step nobody pulls.
    """
    n = spec.workers
    population = Population(spec.model, n, spec.seed)
    streams = [
        training.BatchStream(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
        for i, part in enumerate(parts)
    ]
    batches = training.Batches(population.task, data, streams)
    W = next(mixing_stream(spec.topology, n, None, torch_stream(0, "graphs")))
    apart = without(W, {lost})
    for t in range(training.schedule(spec, sum(map(len, parts)))[-1]):
        population.gradients(batches)
        matrix = W if t < step else apart if t > step else torch.eye(n, dtype=W.dtype)
        PROTOCOLS[spec.protocol].step(t, population.X, population.G, matrix, spec, [])
    return population.X[[i for i in range(n) if i != lost]]


@pytest.mark.parametrize("lost", [2, 0])
def test_those_that_are_left_go_on_with_renewed_weights(lost, tmp_path):
    spec = spec_of(workers=4, topology="complete")
    step = 7
    befalls = partial(at_step, step, lost, end)
    ours, facts, how = distributed(spec, 4, tmp_path, befalls, on_failure="drop")
    data = datasets.load("digits", tmp_path)
    X = after_a_loss(spec, draw(spec, data.labels), data, lost, step)
    assert ours["V"][-1] == pytest.approx(float(synchronization_index(X)), rel=1e-4)
    model = Population(spec.model, 1, spec.seed)
    model.X.copy_(X.mean(0, keepdim=True))
    inputs = data.normalised(data.test_inputs)
    expected = model.evaluate([inputs], [data.test_targets]).consensus_loss
    assert ours["consensus_loss"][-1] == pytest.approx(expected, rel=1e-4)
    # The rows before, also those of a leader that is gone, are the simulation's.
    theirs = simulated(spec, tmp_path)
    assert ours["step"].tolist() == theirs["step"].tolist()
    assert ours["V"][1] == pytest.approx(theirs["V"][1], rel=1e-4)
    assert theirs["step"][1] < step < theirs["step"][2]
    assert how["lost"] == [
        {"process": lost, "workers": [lost], "step": step + 1, "how": "was killed by SIGKILL"}
    ]
    assert facts["run"] == spec.id + "-lost1"
    # 12 models a step, then 6 among three; the broken step is not counted.
    since = ours["step"][-1] - ours["step"][-2]
    assert ours["messages"][-1] - ours["messages"][-2] == 6 * since
    assert ours["samples"][-1] - ours["samples"][-2] == 3 * 16 * since


@pytest.mark.parametrize("protocol", ["ngo", "centralized", "delayed"])
def test_a_ring_that_loses_one_is_a_path(protocol, tmp_path):
    """Those far from it notice later, and those behind catch up."""
    spec = spec_of(workers=5, protocol=protocol, epochs=1.0, eval_every=0.5)
    befalls = partial(at_step, 4, 3, end)
    ours, _, how = distributed(spec, 5, tmp_path, befalls, on_failure="drop")
    assert [row["processes"] for row in how["evaluations"]] == [5, 4, 4]
    assert ours["step"].tolist() == training.schedule(spec, 1437)
    since = ours["step"][-1] - ours["step"][-2]
    sent = {"ngo": 6, "delayed": 6, "centralized": 8}[protocol]
    assert ours["messages"][-1] - ours["messages"][-2] == sent * since
    crossed = [row["models_sent"] for row in how["evaluations"]]
    assert crossed[-1] - crossed[-2] == (protocol != "centralized") * sent * since
    assert (ours["V"][-1] == 0) == (protocol == "centralized")


def test_a_lost_process_stops_the_others(tmp_path):
    with pytest.raises(UserError) as told:
        distributed(spec_of(workers=4), 4, tmp_path, partial(at_step, 5, 2, end))
    assert "process 2 (worker 2) was killed by SIGKILL" in str(told.value)
    assert "--on-failure drop" in str(told.value)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "distributed").exists()


def test_a_silent_process_stops_the_others_in_time(tmp_path):
    befalls = partial(at_step, 5, 1, freeze)
    with pytest.raises(UserError, match=r"process 1 \(worker 1\) does not answer"):
        distributed(small_spec(), 3, tmp_path, befalls, timeout=2.5)


def test_a_silent_process_is_dropped(tmp_path):
    befalls = partial(at_step, 5, 1, freeze)
    _, _, how = distributed(small_spec(), 3, tmp_path, befalls, timeout=2.5, on_failure="drop")
    assert [(entry["process"], entry["how"]) for entry in how["lost"]] == [(1, "does not answer")]
    assert how["evaluations"][-1]["processes"] == 2


def test_the_leader_of_an_asynchronous_run_cannot_be_dropped(tmp_path):
    how = {"asynchronous": True, "on_failure": "drop"}
    with pytest.raises(UserError, match="process 0 .* only it gathers the evaluations"):
        distributed(spec_of(workers=3), 3, tmp_path, partial(at_step, 5, 0, end), **how)


def test_a_lost_process_stops_an_asynchronous_run(tmp_path):
    with pytest.raises(UserError, match=r"process 2 \(worker 2\) was killed by SIGKILL"):
        distributed(spec_of(workers=3), 3, tmp_path, partial(at_step, 5, 2, end), asynchronous=True)


def test_a_mistake_is_told_once(tmp_path, capfd):
    parts = [np.arange(1000), np.arange(1000, 1427), np.arange(1427, 1437)]
    with pytest.raises(UserError, match="batch_size: 16 is larger than a worker's share of 10"):
        distributed(spec_of(workers=3), 3, tmp_path, parts=parts)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("topology", ["ring", "random"])
def test_asynchronous_workers_take_the_newest_models(topology, tmp_path):
    spec = spec_of(workers=4, topology=topology, epochs=2.0, eval_every=1.0)
    befalls = partial(at_step, 0, 1, slow)
    ours, facts, how = distributed(spec, 4, tmp_path, befalls, asynchronous=True)
    theirs = simulated(spec, tmp_path)
    assert facts["run"] == spec.id + "-asynchronous"
    assert how["mode"] == "asynchronous"
    for name in ("step", "samples", "epoch"):
        assert ours[name].tolist() == theirs[name].tolist()
    assert ours["consensus_loss"][-1] < ours["consensus_loss"][0]
    first, *_, last = how["evaluations"]
    assert first["staleness_max"] == 0
    assert 0 < last["staleness_mean"] <= last["staleness_max"]
    assert last["staleness_max"] >= 3  # the others do not wait for the slow one
    assert last["models_sent"] == ours["messages"][-1] <= theirs["messages"][-1]
    assert last["bytes_sent"] == ours["bytes_sent"][-1] == last["models_sent"] * PARAMETERS * 4


def test_asynchronous_workers_go_on_without_one(tmp_path):
    spec = spec_of(workers=4, epochs=2.0, eval_every=1.0)
    how = {"asynchronous": True, "on_failure": "drop"}
    ours, facts, told = distributed(spec, 4, tmp_path, partial(at_step, 5, 2, end), **how)
    assert [entry["process"] for entry in told["lost"]] == [2]
    assert [row["processes"] for row in told["evaluations"]] == [4, 3, 3]
    assert ours["step"].tolist() == training.schedule(spec, 1437)
    assert facts["run"] == spec.id + "-asynchronous-lost1"


def test_a_protocol_is_asynchronous_only_if_it_says_so(tmp_path, monkeypatch):
    """Of its fields none tells: gradient tracking has those of NGO, and exchanges two things."""
    ngo = PROTOCOLS["ngo"]
    monkeypatch.setitem(PROTOCOLS, "tracking", Protocol(ngo.step, ngo.fields, ngo.fixed))
    how = {"processes": 2, "asynchronous": True, "on_failure": "stop"}
    refusal = "protocol 'tracking' have to wait; allowed: gossip, local_sgd, ngo."
    with pytest.raises(UserError, match=refusal):
        check(spec_of(workers=2, protocol="tracking"), tmp_path, **how)
    check(spec_of(workers=2), tmp_path, **how)


def test_torchrun_starts_the_processes(tmp_path):
    spec = spec_of(workers=2, topology="complete")
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    train = ["ngo", "train", "--distributed", *spec.flags(), "--device", "cpu"]
    places = ["--data-root", str(tmp_path), "--out", str(tmp_path / "torchrun")]
    command = [sys.executable, "-m", *torchrun, "-m", "--", *train, *places]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    ours, _ = columns.read(tmp_path / "torchrun/metrics.parquet", "metrics")
    assert_equal_runs(ours, simulated(spec, tmp_path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--distributed"], "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT not set"),
        (["--distributed", "--processes", "11"], "processes: 11 is more than the 10 workers"),
        (["--distributed", "--processes", "2", "--on-failure", "dorp"], "Did you mean 'drop'?"),
        (
            ["--distributed", "--processes", "2", "--asynchronous", "--protocol", "delayed"],
            "the workers of protocol 'delayed' have to wait; allowed: gossip, local_sgd, ngo.",
        ),
        (["--distributed", "--processes", "2", "--snapshot", "final"], "snapshot: a distributed"),
        (["--processes", "2"], "processes: it goes with --distributed only"),
        (["--asynchronous"], "asynchronous: it goes with --distributed only"),
    ],
)
def test_mistakes_are_one_line(arguments, message, tmp_path, monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    given = ["train", "--dataset", "digits", "--device", "cpu", "--out", str(tmp_path / "a")]
    result = CliRunner().invoke(main, [*given, *arguments])
    assert result.exit_code == 2
    line = result.stderr.splitlines()[-1]
    assert line.startswith("ngo: ")
    assert message in line


def test_a_distributed_run_is_not_put_where_the_simulated_one_belongs(tmp_path):
    spec = spec_of(workers=2)
    given = ["train", *spec.flags(), "--distributed", "--processes", "2", "--device", "cpu"]
    result = CliRunner().invoke(main, [*given, "--out", str(tmp_path / spec.id)])
    assert result.exit_code == 2
    assert "has the name of the simulated run" in result.stderr
    assert not list((tmp_path / spec.id).glob("*.parquet"))


def test_every_worker_is_in_one_process():
    for workers, processes in [(5, 2), (4, 4), (10, 3)]:
        own = shares(workers, processes)
        assert [i for part in own for i in part] == list(range(workers))
        assert max(map(len, own)) - min(map(len, own)) <= 1


def test_a_process_has_the_samples_of_its_workers_only(tmp_path):
    spec = spec_of(workers=4)
    data = datasets.load("digits", tmp_path)
    parts = draw(spec, data.labels)
    mine = share(spec, data, parts, [1, 2])
    assert len(mine.data.train_inputs) == len(parts[1]) + len(parts[2])
    for own, part, i in zip(mine.parts, parts[1:3], (1, 2), strict=True):
        streams = [
            training.BatchStream(samples, 16, torch_stream(0, "batches", i))
            for samples in (own, part)
        ]
        for local, everywhere in islice(zip(*streams, strict=True), 60):
            assert torch.equal(mine.data.train_inputs[local], data.train_inputs[everywhere])


def test_moments_of_parts_are_those_of_the_whole():
    X = torch.randn(7, 11, generator=torch_stream(0, "X")) + 100
    mean, V = joint((len(part), *moments(part)) for part in X.split([1, 4, 2]))
    assert torch.allclose(mean, X.double().mean(0))
    assert float(V) == pytest.approx(float(synchronization_index(X)), rel=1e-12)
    assert joint((2, *moments(X[:1].expand(2, -1))) for _ in range(3))[1] == 0
