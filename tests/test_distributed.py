import json
import os
import subprocess
import sys
from functools import partial
from itertools import islice

import numpy as np
import psutil
import pytest
import torch
import torch.distributed as dist
from click.testing import CliRunner
from participants import (
    LIMIT,
    at_step,
    convex_spec,
    distributed,
    end,
    ended_within,
    only,
    simulated,
    slow,
    spec_of,
    surroundings,  # noqa: F401
)

from ngo import columns, datasets, training
from ngo.cli import main
from ngo.consensus import synchronization_index
from ngo.distributed import check
from ngo.files import try_hold
from ngo.network import joint, moments
from ngo.partition_file import draw
from ngo.protocols import PROTOCOLS, Protocol
from ngo.registry import UserError
from ngo.seeding import torch_stream
from ngo.shares import share, shares

TEST_SAMPLES = 360
PARAMETERS = 12_730


def assert_equal_runs(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name in ours:
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
    """On a model that does not magnify rounding; at p = 1/2, where the coupling jumps at 0, on ten
    parameters whose differences are far from 0.
    """
    jumps = fields.get("p") == 0.5
    make = partial(convex_spec, epochs=0.35, eval_every=0.15) if jumps else spec_of
    spec = make(workers=processes, **fields)
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


@pytest.mark.parametrize("protocol", ["ngo", "centralized"])
def test_a_step_of_the_digits_network_is_the_simulated_one(protocol, tmp_path):
    """One, from the same state: a tie in a ReLU or a pooling would part two longer runs."""
    spec = spec_of(model="mnist_cnn", workers=4, protocol=protocol, epochs=0.02)
    theirs = simulated(spec, tmp_path)
    ours, _, _ = distributed(spec, 2, tmp_path)
    assert_equal_runs(ours, theirs)
    assert theirs["step"].tolist() == [0, 1]


def test_a_folder_that_holds_a_run_is_safe(tmp_path):
    """The same run is not done again; another, by spec, way or number of processes, is refused."""
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
    with pytest.raises(UserError, match=f"{holds} lr 0.02 and not 0.01; .* with --overwrite"):
        distributed(other, 2, tmp_path, on_failure="drop")
    with pytest.raises(UserError, match=f"{holds} distributed .*'processes': 2.* and not .*: 3"):
        distributed(spec, 3, tmp_path)
    with pytest.raises(UserError, match=f"{holds} distributed .* and not None"):
        training.run(spec, out, tmp_path)
    assert contents() == before
    (out / "checkpoint.pt").write_text("of a simulated run")
    with pytest.raises(UserError, match="holds the checkpoint of a simulated run"):
        distributed(spec, 2, tmp_path)
    distributed(other, 2, tmp_path, overwrite=True)
    assert sorted(contents()) == ["metrics.parquet", "run.json"]
    assert json.loads((out / "run.json").read_text())["id"] == other.id


def test_a_distributed_run_waits_for_nobody_in_its_folder(tmp_path):
    (tmp_path / "distributed").mkdir()
    message = "another run is at work in '.*/distributed'"
    with try_hold(tmp_path / "distributed/.lock"), pytest.raises(UserError, match=message):
        distributed(convex_spec(workers=3, epochs=0.05), 2, tmp_path)


def test_a_long_run_stays_the_simulated_one(tmp_path):
    """On a convex problem, where rounding is not magnified."""
    spec = convex_spec(workers=5, topology="random", epochs=4.0, eval_every=2.0)
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


def test_a_mistake_is_told_once(tmp_path, capfd):
    parts = [np.arange(1000), np.arange(1000, 1427), np.arange(1427, 1437)]
    with pytest.raises(UserError, match="batch_size: 16 is larger than a worker's share of 10"):
        distributed(spec_of(workers=3), 3, tmp_path, parts=parts)
    assert capfd.readouterr().err == ""


def load_outside_the_group(work):
    """Do ``work``, where data can't be loaded while a silent process would be lost."""
    original = datasets.load

    def load(*arguments):
        assert not dist.is_initialized()
        return original(*arguments)

    datasets.load = load
    work()


def die_at_the_data():
    datasets.load = lambda *arguments: end()


def test_data_are_loaded_before_a_silent_process_is_lost(tmp_path):
    spec = convex_spec(workers=2, epochs=0.01)
    ours, _, _ = distributed(spec, 2, tmp_path, load_outside_the_group)
    assert ours["step"].tolist() == [0, 2]


@pytest.mark.parametrize("on_failure", ["stop", "drop"])
def test_a_process_that_dies_while_data_are_loaded_is_not_waited_for(on_failure, tmp_path):
    befalls = partial(only, 1, die_at_the_data)
    died = "process 1 was killed by SIGKILL before the first step"
    with pytest.raises(UserError, match=died):
        distributed(convex_spec(workers=3), 3, tmp_path, befalls, on_failure=on_failure)


def note_listeners(launcher, file):
    """Write down where the processes of a launcher listen, and which interface they are told."""
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
    # By itself gloo takes the address of the host's name, which may be this one, too.
    assert "127.0.0.1" in {address.address for address in psutil.net_if_addrs()[interface]}


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


def test_an_asynchronous_run_ends_with_a_diverged_row(tmp_path):
    spec = convex_spec(workers=3, lr=1e30, epochs=0.5, eval_every=0.1)
    ours, _, _ = distributed(spec, 3, tmp_path, asynchronous=True)
    assert ours["diverged"].tolist() == [False, True]


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
    spec = convex_spec(workers=2, topology="complete", epochs=0.5)
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    train = ["ngo", "train", "--distributed", *spec.flags(), "--device", "cpu"]
    places = ["--data-root", str(tmp_path), "--out", str(tmp_path / "torchrun")]
    command = [sys.executable, "-m", *torchrun, "-m", "--", *train, *places]
    with ended_within(LIMIT):
        subprocess.run(command, check=True, capture_output=True)
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
    spec = spec_of(workers=2, model="mnist_cnn")
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
