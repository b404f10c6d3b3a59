"""Speeds, links, queues, traces and churn of virtual time."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from cases import cases, refused
from runs import digits_run

from ngo.training.clocks import CHURN, LINKS, SPEEDS, Presence, read_trace
from ngo.virtual.event_simulation import Wires
from verdicts.registry import UserError


def link(**values):
    spec = digits_run(**{"clock": "waiting", "workers": 40, **values})
    return LINKS[spec.links].of(spec)


def test_slow_links_are_a_share_and_a_trace_changes_a_link_from_a_time_on(tmp_path):
    assert link()(0, 1, 0.0) == (0.0, 0.0)
    assert link(latency=0.5, bandwidth=1e6)(3, 1, 7.0) == (0.5, 1e-6)
    of = link(latency=0.5, bandwidth=100.0, slow_links=0.3, slow_link_factor=4.0)
    pairs = [(i, j) for i in range(40) for j in range(i)]
    costs = [of(i, j, 0.0) for i, j in pairs]
    assert set(costs) == {(0.5, 0.01), (2.0, 0.04)}
    assert costs == [of(j, i, 0.0) for i, j in pairs]
    assert costs.count((2.0, 0.04)) == pytest.approx(0.3 * 780, rel=0.2)
    assert link(latency=1.0, slow_links=1.0, slow_link_factor=2.0)(0, 1, 0.0) == (2.0, 0.0)
    path = tmp_path / "links.csv"
    rows = "1,0,1,0.5,0\n2,0,1,0.25,10\n2,5,4,9,1\n"
    path.write_text(f"time,sender,receiver,latency,bandwidth\n{rows}")
    of = link(links="link_trace", link_file=str(path), latency=0.1)
    found = [of(0, 1, time) for time in (0.9, 1.0, 2.0, 50.0)]
    assert found == [(0.1, 0.0), (0.5, 0.0), (0.25, 0.1), (0.25, 0.1)]
    assert of(1, 0, 5.0) == (0.1, 0.0)
    assert of(5, 4, 5.0) == (9.0, 1.0)


def seconds(count, worker=0, **values):
    """The seconds of a worker's first steps."""
    spec = digits_run(**{"clock": "waiting", **values})
    each = SPEEDS[spec.speed].of(spec)[worker]
    return [each(0.0) for _ in range(count)]


def test_slow_and_log_normal_workers():
    slow = {"slow_workers": 2, "slow_factor": 5.0, "step_seconds": 0.1}
    assert [seconds(2, i, **slow) for i in range(3)] == [[0.5] * 2, [0.5] * 2, [0.1] * 2]
    with pytest.raises(UserError, match="slow_workers: 5 is not allowed; it must be 4"):
        digits_run(clock="waiting", slow_workers=5)
    drawn = np.array(seconds(20_000, speed="log_normal", speed_spread=0.8, step_seconds=3.0))
    assert drawn.mean() == pytest.approx(3.0, rel=0.05)
    assert np.log(drawn).std() == pytest.approx(0.8, rel=0.02)
    assert seconds(3, speed="log_normal") == seconds(3, speed="log_normal")
    assert seconds(3, speed="log_normal") != seconds(3, 1, speed="log_normal")
    assert seconds(3, speed="log_normal") != seconds(3, speed="log_normal", seed=1)
    workers = [seconds(2, i, speed="log_normal_workers") for i in range(4)]
    assert all(a == b for a, b in workers)
    assert len({a for a, _ in workers}) == 4
    assert seconds(1, speed="log_normal_workers", speed_spread=0.0) == [1.0]


def test_traces_have_the_seconds_and_the_changes_of_each_worker_from_a_time_on(tmp_path):
    rows = [f"0,{i},1" for i in range(4)] + ["10,2,3"]
    path = tmp_path / "speeds.csv"
    path.write_text("time,worker,seconds\n" + "\n".join(rows))
    spec = digits_run(clock="waiting", speed="speed_trace", speed_file=str(path))
    each = SPEEDS[spec.speed].of(spec)
    assert [each[2](start) for start in (0.0, 9.9, 10.0, 99.0)] == [1, 1, 3, 3]
    assert each[3](99.0) == 1
    path.write_text("time,worker,seconds\n0,0,1\n1,1,1\n")
    with pytest.raises(UserError, match="speed_file: .* worker 1 needs a row with time 0"):
        digits_run(clock="waiting", speed="speed_trace", speed_file=str(path))
    rows = ["1,0,leaves", "1,3,leaves", "2,0,comes", "4,0,leaves"]
    assert churned(tmp_path, rows) == [[1, 2, 4], [], [], [1]]


def churned(tmp_path, rows):
    path = tmp_path / "churn.csv"
    path.write_text("time,worker,event\n" + "\n".join(rows))
    spec = digits_run(clock="asynchronous", churn="churn_trace", churn_file=str(path))
    return CHURN[spec.churn].of(spec)


@cases(
    "rows, wrong",
    (["1,0,comes"], "row 1: 'comes' is .* next event of worker 0 must be leaves"),
    (["1,0,leaves", "1,0,leaves"], "row 2: 'leaves' is .* next event of worker 0 must be comes"),
    (["1,0,goes"], "row 1: 'goes' is not allowed; the next event of worker 0 must be leaves"),
)
def test_a_wrong_event_is_refused(tmp_path, rows, wrong):
    refused(wrong, churned, tmp_path, rows)


def test_a_step_begins_again_when_its_worker_comes_back():
    presence = Presence([[], [1.0, 2.0, 4.0]])
    assert not presence.always
    assert Presence([[], []]).always
    assert [presence.away(1, time) for time in (0.9, 1.0, 1.9, 2.0, 5.0)] == [0, 1, 1, 0, 1]
    assert not presence.away(0, 1.5)
    presence = Presence([[1.0, 2.0, 4.0], [0.0, 3.0]])
    assert presence.end(0, 0.5, 0.5) == 1.0  # it ends as the worker leaves
    assert presence.end(0, 0.5, 0.75) == 2.75
    assert presence.end(0, 1.5, 0.5) == 2.5
    assert presence.end(0, 0.5, 3.0) == math.inf
    assert presence.end(0, 5.0, 0.1) == math.inf
    assert presence.end(1, 0.0, 0.5) == 3.5


@pytest.mark.parametrize("seconds", [0.0, 1e-20, math.nan])
@pytest.mark.parametrize("changes", [[], [50.0, 60.0]])
def test_time_never_stands_still(changes, seconds):
    with pytest.raises(UserError, match="^speed: .* the step of worker 0 at second 10 must end"):
        Presence([changes]).end(0, 10.0, seconds)


@cases(
    "row, wrong",
    (b"1,0", "row 2: 2 values, where 3 are needed"),
    (b"1,3,1", "row 2: worker 3 is not one of 0 to 2"),
    (b"inf,0,1", "row 2: time inf is not allowed"),
    (b"1," + 5000 * b"9" + b",1", "row 2: .*Exceeds the limit"),
    (b"\xff\xfe\x00", ""),
)
def test_a_wrong_row_is_named_in_one_line(tmp_path, row, wrong):
    (tmp_path / "trace.csv").write_bytes(b"time,worker,seconds\n0,0,1\n" + row + b"\n")
    run = SimpleNamespace(workers=3, speed_file=str(tmp_path / "trace.csv"))
    refused(f"speed_file: .*{wrong}[^\n]*$", read_trace, run, "speed_file", "time,worker,seconds")


def wires(size=10, changes=None, replaces=True, **values):
    spec = digits_run(**{"clock": "asynchronous", "workers": 4, **values})
    return Wires(spec, size, Presence(changes or [[]] * 4), replaces=replaces)


def received(lines, worker, now):
    return [(sender, *content) for sender, content in lines.received(worker, now)]


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


def test_nothing_arrives_at_a_worker_that_is_away_and_a_pair_takes_both_sides():
    lines = wires(latency=1.0, changes=[[], [2.0, 3.0], [], []])
    for now in (0.5, 1.0, 1.9, 2.0):
        lines.send(0, 1, now, now)
    assert received(lines, 1, 9.0) == [(0, 0.5), (0, 2.0)]
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
