import threading
import time

import pytest
from by_hand import by_hand
from participants import meeting_of, store_here

from ngo.common.registry import UserError
from ngo.distributed import meeting as meetings
from ngo.distributed.process_group import exit_reason


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


def test_a_slow_process_is_waited_for():
    store = store_here()
    waits, heard = in_background(lambda: meeting_of(store, 0, 2).gather("ready", "a"))
    waits.join(0.3)
    assert waits.is_alive()
    assert meeting_of(store, 1, 2).gather("ready", [1.5]) == ["a", [1.5]]
    waits.join(60)
    assert heard == [["a", [1.5]]]


def test_what_is_not_json_arrives_as_none():
    store = store_here()
    for q, text in enumerate(["{", "[" * 100_000, "\xff\x00", "9" * 10_000]):
        store.set(f"gpus/{q}", text)
    assert meeting_of(store, 4, 5).gather("gpus", 1) == [None, None, None, None, 1]


def test_a_process_that_does_not_come_is_not_waited_for():
    """All say the same, also the one that has more patience."""
    store = store_here()
    other, heard = in_background(lambda: meeting_of(store, 1, 4).gather("gpus", ""))
    meeting = meeting_of(store, 0, 4)
    line = "met at host:29500 in 0.3 s: process 2, 3 did not come.$"
    with pytest.raises(UserError, match=line) as error:
        meeting.gather("gpus", "", timeout=0.3)
    other.join(60)
    assert heard == [str(error.value)]


def test_a_process_that_fails_is_not_waited_for():
    store = store_here()
    with pytest.raises(ZeroDivisionError), meeting_of(store, 2, 3).failure_published():
        raise ZeroDivisionError
    with pytest.raises(UserError), meeting_of(store, 1, 3).failure_published():
        raise UserError("data: 'mnist' is missing.")
    assert exit_reason(store, 2) == "stopped with a ZeroDivisionError"
    line = "^distributed: before the first step, process 1 stopped: data: 'mnist' is missing.$"
    with pytest.raises(UserError, match=line):
        meeting_of(store, 0, 3).gather("gpus", "")


def test_the_process_that_holds_the_store_leaves_last():
    """So that the others read why it ends."""
    store = store_here()
    first, second = meeting_of(store, 0, 3), meeting_of(store, 1, 3)  # process 2 has not come
    waits, _ = in_background(first.leave)
    waits.join(0.3)
    assert waits.is_alive()
    second.leave()
    waits.join(60)
    assert not waits.is_alive()


def test_a_busy_process_is_not_waited_for_without_end(monkeypatch):
    store = store_here()
    first = meeting_of(store, 0, 2)
    meeting_of(store, 1, 2)  # which does not leave
    monkeypatch.setattr(meetings, "PARTING_SECONDS", 0.1)
    begin = time.monotonic()
    first.leave()
    assert time.monotonic() - begin >= 0.1


def test_a_refusal_comes_before_the_exits_that_it_causes():
    store = store_here()
    with pytest.raises(UserError), meeting_of(store, 1, 2).failure_published():
        raise meeting_of(store, 0, 2).refusal("distributed: they differ.")
    with pytest.raises(UserError, match="^distributed: they differ.$"):
        meeting_of(store, 2, 3).gather("run", "")


def test_all_that_came_are_waited_for_whatever_their_number():
    store = store_here()
    first, third = meeting_of(store, 0, 2), meeting_of(store, 2, 3)
    waits, _ = in_background(first.leave)
    waits.join(0.3)
    assert waits.is_alive()
    third.leave()
    waits.join(60)
    assert not waits.is_alive()


def test_a_number_is_given_to_one_process():
    store = store_here()
    first = meeting_of(store, 1, 3)
    with pytest.raises(UserError) as error:
        meeting_of(store, 1, 3)
    assert str(error.value) == (
        "RANK: another process has started as 1 of 3; the processes must have different "
        "numbers, 0 to 2."
    )
    with pytest.raises(UserError, match=r"process 0, 2 did not come \(1 was started more than"):
        first.gather("run", "", timeout=0.1)


def test_processes_that_disagree_end_with_one_line(tmp_path):
    """Started by hand, where process 0 holds the store: all processes say the same line."""
    lines = by_hand(tmp_path, [["--lr", "0.5"], [], []])
    line = "ngo: distributed: the processes do not agree: process 0 has lr 0.5, the others 0.1."
    assert lines == [(2, [line])] * 3
    assert not list(tmp_path.iterdir())
