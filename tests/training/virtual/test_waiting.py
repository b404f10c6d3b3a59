"""Runs whose workers wait for each other: their times, by hand."""

import numpy as np
import pytest
import torch
from runs import digits_run, interrupted, left, run_in, tiny, trained, without_clock

from ngo.gossip.topology import TOPOLOGIES
from ngo.virtual.waiting_stepper import WaitingTimes
from verdicts.registry import UserError


def times(**values):
    return WaitingTimes(digits_run(**{"clock": "waiting", **values}))


def ring(n=4):
    return TOPOLOGIES["ring"].matrix(n)


def take(each, W, count, size=100):
    for _ in range(count):
        edges = W.edges
        each.step(W, [], edges, edges * size)
    return each.done.tolist()


def test_the_slowest_worker_decides_all_steps():
    each = times(slow_workers=1, slow_factor=3.0, latency=0.5)
    # Its neighbours wait for it from the first step on; it never waits for them.
    assert take(each, ring(), 1) == [3.0, 3.5, 1.5, 3.5]
    assert take(each, ring(), 1) == [6.0, 6.5, 5.0, 6.5]
    assert take(each, ring(), 18)[0] == 60.0


@pytest.mark.parametrize("latency", [0.0, 0.25, 2.0])
def test_two_workers_end_a_step_after_the_slower_one_and_the_latency(latency):
    each = times(workers=2, latency=latency)
    assert take(each, ring(2), 10) == pytest.approx([10 * (1 + latency)] * 2)


def test_times_are_the_max_plus_recursion():
    fields = {"workers": 6, "speed": "log_normal", "latency": 0.3}
    each, other = times(**fields), times(**fields)
    W = ring(6)
    done = np.zeros(6)
    for _ in range(30):
        half = np.array([done[i] + other._seconds[i](done[i]) for i in range(6)])
        done = np.array(
            [max(half[i], half[(i - 1) % 6] + 0.3, half[(i + 1) % 6] + 0.3) for i in range(6)]
        )
    assert take(each, W, 30) == pytest.approx(done)


def test_messages_queue_on_both_sides():
    """On a star, five messages of a second each leave its centre, and reach it, in turn."""
    each = times(workers=6, bandwidth=100.0)
    W = TOPOLOGIES["star"].matrix(6)
    assert take(each, W, 1) == [6.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_a_late_message_waits_for_those_before_it():
    each = times(workers=3, bandwidth=100.0, slow_workers=1, slow_factor=1.5)
    # Worker 0 sends from 1.5 to 3.5. The others send from 1 to 3, both first to worker 0.
    assert take(each, TOPOLOGIES["complete"].matrix(3), 1) == [3.0, 3.5, 4.0]


def test_delayed_models_are_waited_for_later():
    # Models sent at 0.5, 1, 1.5, … arrive 10 later and are used two steps after they were sent.
    each = times(method="delayed", delay=2, latency=10.0, step_seconds=0.5)
    assert take(each, ring(), 2) == [1.0] * 4
    assert take(each, ring(), 1) == [10.5] * 4
    assert take(each, ring(), 1) == [11.0] * 4


def test_a_server_takes_one_message_at_a_time():
    each = times(method="centralized", latency=1.0, bandwidth=100.0)
    each.step(None, [], 8, 800)
    # The last of four arrives at 1 + 1 + 4; the means leave one after another.
    assert each.done.tolist() == [8.0, 9.0, 10.0, 11.0]


def test_absent_workers_and_steps_without_messages_take_no_time():
    each = times()
    each.step(ring(), [2], 0, 0)
    assert each.done.tolist() == [1, 1, 0, 1]


def test_neighbours_wait_for_a_worker_that_is_away(tmp_path):
    path = tmp_path / "churn.csv"
    path.write_text("time,worker,event\n1.5,0,leaves\n10,0,comes\n20,0,leaves\n")
    each = times(churn="churn_trace", churn_file=str(path))
    assert take(each, ring(), 1) == [1.0] * 4
    assert take(each, ring(), 1) == [11.0, 11.0, 2.0, 11.0]
    with pytest.raises(UserError, match="churn: worker 0 leaves for good"):
        take(each, ring(), 20)


@pytest.mark.parametrize(
    "fields",
    [{}, {"method": "d2"}, {"method": "choco"}, {"method": "centralized"}, {"absence": 0.2}],
    ids=str,
)
def test_waiting_changes_no_model(digits, fields):
    fields = {"epochs": 0.3, **fields}
    without = trained(digits_run(**fields), digits)
    timed = trained(digits_run(clock="waiting", speed="log_normal", latency=0.1, **fields), digits)
    assert torch.equal(without[1].X, timed[1].X)
    for row, other in zip(without_clock(without[0]), without_clock(timed[0]), strict=True):
        assert (other["virtual_seconds"] > 0) == (row["step"] > 0)
        of_time = {"joules": 0, "virtual_seconds": 0}
        assert row | of_time == other | of_time


def test_equal_speeds_without_latency_take_a_step_each(digits):
    rows, _ = trained(digits_run(clock="waiting", step_seconds=0.25, joules_step=3.0), digits)
    assert [row.virtual_seconds for row in rows] == [row.step / 4 for row in rows]
    assert [row.joules for row in rows] == [12 * row.step for row in rows]


def test_a_run_continues_from_its_checkpoint(tmp_path):
    spec = tiny(clock="waiting", speed="log_normal", latency=0.2, bandwidth=1e4)
    run_in(spec, tmp_path / "whole")
    interrupted(spec, tmp_path / "stopped", step=7)
    run_in(spec, tmp_path / "stopped")
    assert left(tmp_path / "stopped") == left(tmp_path / "whole")
