"""How processes meet and agree."""

import os
import socket
import sys
import threading

import pytest
import torch.distributed as dist
from cases import cases, mistake_of, refused
from running import ended, start
from test_process_run import surroundings  # noqa: F401

from ngo.distributed.process_run import LOOPBACK
from ngo.distributed.rendezvous import Place, Rendezvous, disagreement, read_place
from verdicts.registry import UserError

GIVEN = {"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "host", "MASTER_PORT": "29500"}
OTHERS = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE")
RUN = ["--dataset", "least_squares", "--model", "linear", "--task", "regression", "--workers", "3"]
RUN += ["--batch-size", "16", "--lr", "0.1", "--epochs", "0.1", "--device", "cpu"]


def rendezvous_of(store, me, size, timeout=20.0):
    """The rendezvous of ``size`` processes, as seen by one, without an environment."""
    return Rendezvous(Place(me, size, "host", 29500, 0, 1, holds_store=me == 0), store, timeout)


def place_of(monkeypatch, **changed):
    for name in (*GIVEN, *OTHERS):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**GIVEN, **changed}.items():
        monkeypatch.setenv(name, value)
    return read_place()


@cases(
    "changed, line",
    ({"WORLD_SIZE": "", "MASTER_ADDR": ""}, "distributed: WORLD_SIZE, MASTER_ADDR not set; "),
    ({"RANK": "3"}, "RANK: '3' is not a whole number, 0 to 2."),
    ({"RANK": "-1"}, "RANK: '-1' is not"),
    ({"RANK": "9" * 5000}, "RANK: '999"),
    ({"WORLD_SIZE": "0"}, "WORLD_SIZE: '0' is not"),
    ({"MASTER_PORT": "http"}, "MASTER_PORT: 'http' is not a whole number"),
    ({"LOCAL_WORLD_SIZE": "4"}, "LOCAL_WORLD_SIZE: '4' is not"),
)
def test_a_wrong_variable_is_one_line(monkeypatch, changed, line):
    assert mistake_of(place_of, monkeypatch, **changed).startswith(line)


def in_background(work):
    """Call ``work`` in a thread; the thread, and the list that gets what it returns or raises."""
    heard = []

    def call():
        try:
            heard.append(work())
        except UserError as error:
            heard.append(str(error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread, heard


def test_a_process_that_does_not_come_is_not_waited_for():
    """All say the same, also the one that has more patience."""
    store = dist.HashStore()
    other, heard = in_background(lambda: rendezvous_of(store, 1, 4).gather("run", ""))
    line = "met at host:29500 in 0.3 s: process 2, 3 did not come.$"
    with pytest.raises(UserError, match=line) as error:
        rendezvous_of(store, 0, 4).gather("run", "", timeout=0.3)
    other.join(60)
    assert heard == [str(error.value)]


@cases(
    "error, line",
    (ZeroDivisionError(), "distributed: process 1 stopped with a ZeroDivisionError."),
    (UserError("data: 'mnist' is missing."), "data: 'mnist' is missing."),
)
def test_a_process_that_fails_is_not_waited_for(error, line):
    store = dist.HashStore()
    with pytest.raises(type(error)), rendezvous_of(store, 1, 2).failure_published():
        raise error
    refused(f"^{line}$", rendezvous_of(store, 0, 2).gather, "run", "")


def test_a_number_is_given_to_one_process():
    store = dist.HashStore()
    rendezvous_of(store, 1, 3)
    refused("^RANK: another process has started as 1 of 3; ", rendezvous_of, store, 1, 3)


def started(folder, rank, size, port, *options):
    """Start one process."""
    place = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    common = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": LOOPBACK}
    environment = {**os.environ, **common, **{k: str(v) for k, v in place.items()}}
    run = [sys.executable, "-m", "ngo", "train", "--distributed", *RUN, *options]
    return start([*run, "--out", folder / str(rank)], env=environment)


def test_processes_that_disagree_end_with_one_line(tmp_path):
    """Started by hand, where process 0 holds the store: all processes say the same line."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    processes = [started(tmp_path, q, 3, port, *["--lr", "0.5"] * (q == 0)) for q in range(3)]
    line = "ngo: distributed: the processes do not agree: process 1 has lr 0.1, process 0 has 0.5."
    assert [ended(process)[1].splitlines() for process in processes] == [[line]] * 3
    assert [process.returncode for process in processes] == [2] * 3
    assert not list(tmp_path.iterdir())


def test_a_process_that_meets_a_silent_stranger_ends(tmp_path):
    """Its exit does not wait for torch, which has no time limit there."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        process = started(tmp_path, 1, 2, stranger.getsockname()[1], "--timeout", "1")
        _, err = ended(process, 90)
    assert process.returncode == 2
    [line] = err.splitlines()
    assert "found no store of a run at '127.0.0.1', port " in line
    assert line.endswith("in 1 s: nothing answers.")


@cases(
    "published, words",
    ([{"lr": 0.1}] * 4, ""),
    ([{"lr": 1}, {"lr": 2}], "process 1 has lr 2, process 0 has 1"),
    ([{"p": 0.9}, {"p": 0.9}, {}], "process 2 has p None, process 0 has 0.9"),
)
def test_the_words_of_a_disagreement(published, words):
    assert disagreement(published) == words
