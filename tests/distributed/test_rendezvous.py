"""How processes meet and agree."""

import socket
import threading

import pytest
import torch.distributed as dist
from by_hand import by_hand, started
from participants import (
    rendezvous_of,
    surroundings,  # noqa: F401
)
from running import ended

from ngo.distributed.rendezvous import disagreement, read_place
from verdicts.registry import UserError

GIVEN = {"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "host", "MASTER_PORT": "29500"}
OTHERS = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE")


def place_of(monkeypatch, **changed):
    for name in (*GIVEN, *OTHERS):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**GIVEN, **changed}.items():
        monkeypatch.setenv(name, value)
    return read_place()


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"WORLD_SIZE": "", "MASTER_ADDR": ""}, "distributed: WORLD_SIZE, MASTER_ADDR not set; "),
        ({"RANK": "3"}, "RANK: '3' is not a whole number, 0 to 2."),
        ({"RANK": "-1"}, "RANK: '-1' is not"),
        ({"RANK": "9" * 5000}, "RANK: '999"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE: '0' is not"),
        ({"MASTER_PORT": "http"}, "MASTER_PORT: 'http' is not a whole number"),
        ({"LOCAL_WORLD_SIZE": "4"}, "LOCAL_WORLD_SIZE: '4' is not"),
    ],
)
def test_a_wrong_variable_is_one_line(changed, line, monkeypatch):
    with pytest.raises(UserError) as error:
        place_of(monkeypatch, **changed)
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


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


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ZeroDivisionError(), "distributed: process 1 stopped with a ZeroDivisionError."),
        (UserError("data: 'mnist' is missing."), "data: 'mnist' is missing."),
    ],
)
def test_a_process_that_fails_is_not_waited_for(error, line):
    store = dist.HashStore()
    with pytest.raises(type(error)), rendezvous_of(store, 1, 2).failure_published():
        raise error
    with pytest.raises(UserError, match=f"^{line}$"):
        rendezvous_of(store, 0, 2).gather("run", "")


def test_a_number_is_given_to_one_process():
    store = dist.HashStore()
    rendezvous_of(store, 1, 3)
    with pytest.raises(UserError, match="^RANK: another process has started as 1 of 3; "):
        rendezvous_of(store, 1, 3)


def test_processes_that_disagree_end_with_one_line(tmp_path):
    """Started by hand, where process 0 holds the store: all processes say the same line."""
    lines = by_hand(tmp_path, [["--lr", "0.5"], [], []])
    line = "ngo: distributed: the processes do not agree: process 1 has lr 0.1, process 0 has 0.5."
    assert lines == [(2, [line])] * 3
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


@pytest.mark.parametrize(
    ("published", "words"),
    [
        ([{"lr": 0.1}] * 4, ""),
        ([{"lr": 1}, {"lr": 2}], "process 1 has lr 2, process 0 has 1"),
        ([{"p": 0.9}, {"p": 0.9}, {}], "process 2 has p None, process 0 has 0.9"),
    ],
)
def test_the_words_of_a_disagreement(published, words):
    assert disagreement(published) == words
