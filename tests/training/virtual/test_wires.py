import numpy as np
import pytest
from runs import digits_run

from ngo.training.virtual.clock import Presence
from ngo.training.virtual.schedule import Wires


def wires(size=10, changes=None, replaces=True, **values):
    spec = digits_run(**{"clock": "asynchronous", "workers": 4, **values})
    return Wires(spec, size, Presence(changes or [[]] * 4), replaces=replaces)


def received(lines, worker, now):
    return [(sender, *content) for sender, content in lines.received(worker, now)]


def test_a_message_arrives_after_its_transfer_and_the_latency():
    lines = wires(latency=2.0, bandwidth=10.0)
    lines.send(0, 1, 5.0, "a")
    assert received(lines, 1, 7.9) == []
    assert received(lines, 1, 8.0) == [(0, "a")]
    assert received(lines, 1, 9.0) == []


def test_messages_wait_for_each_other_on_both_sides():
    lines = wires(bandwidth=10.0)  # each takes a second
    for receiver in (1, 2):
        lines.send(0, receiver, 0.0, receiver)
    lines.send(3, 2, 0.5, 3)
    assert received(lines, 1, 1.0) == [(0, 1)]
    # At 2, worker 3's message passes from 0.5 to 1.5, and then worker 0's, which leaves at 1.
    assert received(lines, 2, 1.5) == [(3, 3)]
    assert received(lines, 2, 2.4) == []
    assert received(lines, 2, 2.5) == [(0, 2)]


@pytest.mark.parametrize("replaces", [True, False])
def test_only_the_newest_model_waits_at_its_sender(replaces):
    lines = wires(bandwidth=10.0, replaces=replaces)
    for k in range(4):
        lines.send(0, 1, 0.1 * k, k)
    assert received(lines, 1, 99.0) == [(0, k) for k in ((0, 3) if replaces else range(4))]
    assert lines.messages == (2 if replaces else 4)


def test_a_share_of_messages_is_lost_and_the_same_ones_each_time():
    found = []
    for _ in range(2):
        lines = wires(message_loss=0.3)
        for k in range(5000):
            lines.send(k % 3, 3, float(k), k)
        found.append(received(lines, 3, 1e9))
        assert lines.messages == 5000
    assert found[0] == found[1]
    assert len(found[0]) == pytest.approx(3500, rel=0.03)


def test_nothing_arrives_at_a_worker_that_is_away():
    lines = wires(latency=1.0, changes=[[], [2.0, 3.0], [], []])
    for now in (0.5, 1.0, 1.9, 2.0):
        lines.send(0, 1, now, now)
    assert received(lines, 1, 9.0) == [(0, 0.5), (0, 2.0)]


def test_a_pair_takes_both_sides_of_both():
    lines = wires(latency=0.5, bandwidth=10.0)
    assert lines.meet(0, 1, 0.0) == (1.5, True)
    assert lines.meet(1, 2, 0.25) == (2.5, True)
    assert lines.meet(3, 2, 1.0) == (3.5, True)
    assert lines.messages == 6


def test_queues_equal_a_slow_reference():
    """The reference moves time on in small steps, and takes one byte of each message after another.

    All times are multiples of its step.
    """
    stream = np.random.default_rng(0)
    for _ in range(20):
        lines, size = wires(size=4, bandwidth=1.0, latency=3.0, replaces=False), 4
        sends = sorted((int(t), *map(int, stream.choice(4, 2, replace=False)))
                       for t in stream.integers(0, 30, 12))  # fmt: skip
        for k, (time, i, j) in enumerate(sends):
            lines.send(i, j, float(time), k)
        out = {i: [k for k, send in enumerate(sends) if send[1] == i] for i in range(4)}
        coming = {j: [] for j in range(4)}
        passed, arrived = dict.fromkeys(range(12), 0), {}
        left = dict.fromkeys(range(12), 0)
        for now in range(200):
            for i in range(4):  # a byte leaves each sender
                if out[i] and sends[out[i][0]][0] <= now:
                    k = out[i][0]
                    if left[k] == 0:
                        coming[sends[k][2]].append((now + 3, k))
                    left[k] += 1
                    if left[k] == size:
                        out[i].pop(0)
            for j in range(4):  # a byte enters each receiver
                waiting = sorted((b, k) for b, k in coming[j] if b <= now)
                if waiting:
                    b, k = waiting[0]
                    passed[k] += 1
                    if passed[k] == size:
                        coming[j].remove((b, k))
                        arrived[k] = now + 1
        for j in range(4):
            for k in [k for k, send in enumerate(sends) if send[2] == j]:
                assert k in arrived
        for time in range(200):
            for j in range(4):
                for _, k in received(lines, j, float(time)):
                    assert arrived.pop(k) == time
        assert not arrived
