"""Runs in several processes are the simulated ones."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import psutil
import pytest
from participants import (
    LIMIT,
    assert_equal_runs,
    at_step,
    convex_spec,
    distributed,
    end,
    ended_within,
    freeze,
    only,
    simulated,
    spec_of,
    stderr_to,
    surroundings,  # noqa: F401
)

from ngo.common.files import try_lock
from ngo.common.parquet_columns import read_columns
from ngo.data import loading
from ngo.distributed.process_run import check
from ngo.training import run as simulated_run
from verdicts.registry import UserError


@pytest.mark.parametrize(
    ("processes", "fields"),
    [
        (2, {"topology": "complete", "holdout": 0.2, "partition": "shards", "shards": 10}),
        (4, {"topology": "random", "method": "delayed", "delay": 2}),
        (3, {"topology": "complete", "method": "gossip_until", "v_threshold": 0.005}),
        (4, {"topology": "random", "p": 0.5, "gamma": 0.001, "u": 0.3}),
        (4, {"topology": "ring", "link_failure": 0.3, "absence": 0.2, "weight_decay": 0.01}),
        (4, {"topology": "ring", "attack": "dissensus", "coupling": "clipped"}),
    ],
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
    with pytest.raises(UserError, match=f"{holds} lr 0.02 and not 0.01; .* with --overwrite"):
        distributed(other, 2, tmp_path)
    with pytest.raises(UserError, match=f"{holds} distributed .*'processes': 2.* and not .*: 3"):
        distributed(spec, 3, tmp_path)
    with pytest.raises(UserError, match=f"{holds} distributed .* and not None"):
        simulated_run.run(spec, out, tmp_path)
    assert contents() == before
    (out / "checkpoint.pt").write_text("of a simulated run")
    with pytest.raises(UserError, match="holds the checkpoint of a simulated run"):
        distributed(spec, 2, tmp_path)
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


@pytest.mark.parametrize(
    "scenario", [partial(only, 2, die_at_the_data), partial(at_step, 5, 2, end)]
)
def test_a_lost_process_ends_the_run(scenario, tmp_path):
    with pytest.raises(UserError, match="^distributed: process 2 of 3 was killed by SIGKILL.$"):
        distributed(convex_spec(workers=3), 3, tmp_path, scenario)
    assert not list((tmp_path / "distributed").glob("*.*"))


def test_a_silent_process_ends_the_run(tmp_path):
    scenario = partial(at_step, 5, 1, freeze)
    with pytest.raises(UserError, match="silent for longer than --timeout 2.5: ") as error:
        distributed(convex_spec(workers=3), 3, tmp_path, scenario, timeout=2.5)
    assert "\n" not in str(error.value)


def refused(tmp_path, processes=2, name="out", **fields):
    """The message with which a run is refused; empty if it is not."""
    spec = spec_of(workers=4, **fields)
    message = ""
    try:
        check(spec, tmp_path / (name or spec.id), processes)
    except UserError as error:
        message = str(error)
    assert "\n" not in message
    return message


def test_mistakes_are_one_line(tmp_path):
    refusal = partial(refused, tmp_path)
    assert refusal() == ""
    assert refusal(processes=5).startswith("processes: 5 is more than the 4 workers; it must be 4")
    assert "has the name of the simulated run" in refusal(name=None)
    assert refusal(attack="alie") == ""
    assert refusal(clock="waiting").startswith("clock: 'waiting' is simulated time")


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
