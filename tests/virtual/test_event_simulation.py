from types import SimpleNamespace

import numpy as np
import pytest
import torch
from cases import cases, refused
from runs import digits_run, trained, without_clock

from ngo.common.registries import METHODS, TOPOLOGIES
from ngo.virtual.event_simulation import MESSAGE, Ended, EventSimulation, Graphs
from ngo.virtual.waiting_stepper import WaitingTimes

SIZE = 100


def simulation(**values):
    spec = digits_run(**{"clock": "asynchronous", "workers": 2, **values})
    return EventSimulation(spec, Graphs(spec, 9), METHODS[spec.method].arrivals, SIZE)


def columns(window):
    """The steps of a window, and the messages that they use, by columns."""
    steps = dict(zip(Ended._fields, map(list, zip(*window.steps, strict=True)), strict=True))
    messages = np.array(window.messages, MESSAGE)
    used = {name: messages[name].tolist() for name in ("user", "source")}
    return SimpleNamespace(first=window.first, **steps, **used)


def ends(window):
    return list(zip(window.worker, window.t, strict=True))


def uses(window):
    """(worker, number) of a step and of the step whose model it uses."""
    named = ends(window)
    return [(named[u - window.first], named[s - window.first])
            for u, s in zip(window.user, window.source, strict=True)]  # fmt: skip


def staleness(window):
    """By how many steps the models that a worker uses are older, worker by worker."""
    found = {}
    for (worker, t), (_, its) in uses(window):
        found.setdefault(worker, []).append(t - its)
    return found


def test_equal_workers_step_together_and_a_slow_one_is_used_when_it_ends():
    events = simulation(workers=4, step_seconds=0.5)
    window = columns(events.window(8))
    assert ends(window) == [(i, t) for t in (0, 1) for i in range(4)]
    assert events.now == 1.0
    assert staleness(window) == {i: [0] * 4 for i in range(4)}
    assert window.whole == [0] * 4 + [1] * 4
    assert (window.gradient, window.round) == ([0] * 4 + [1] * 4,) * 2
    # The fast one ends its step t at t + 1, the slow one at 3 (t + 1).
    events = simulation(slow_workers=1, slow_factor=3.0)
    window = columns(events.window(8))
    assert events.now == 6.0
    assert ends(window) == [(1, 0), (1, 1), (0, 0), (1, 2), (1, 3), (1, 4), (0, 1), (1, 5)]
    # The slow one sees what the fast one ended a second before; the fast one what was sent at 3.
    assert uses(window) == [
        ((0, 0), (1, 1)), ((1, 2), (0, 0)), ((1, 3), (0, 0)), ((1, 4), (0, 0)),
        ((0, 1), (1, 4)), ((1, 5), (0, 1)),
    ]  # fmt: skip


@pytest.mark.parametrize(("latency", "stale"), [(0.0, 0), (1.0, 1), (1.5, 2)])
def test_equal_workers_are_as_stale_as_the_latency(latency, stale):
    window = columns(simulation(latency=latency).window(40))
    found = staleness(window)
    assert found[0] == found[1] == [stale] * (20 - stale)
    assert (max(window.whole) >= 0) == (latency == 0)


def test_bandwidth_below_the_rate_of_models_drops_models_in_between():
    """A model takes 4 seconds, a step 1. The newest that waits leaves when the one before is there.

    Step 0 ends at 1 and is there at 5. The model that leaves then is that of step 3, ended at 4;
    it is there at 9, as step 8 ends, and is used until step 11.
    """
    events = simulation(bandwidth=SIZE / 4)
    window = columns(events.window(160))
    assert {t for _, (_, t) in uses(window)} == {0, *range(3, 75, 4)}
    assert set(staleness(window)[0]) == {4, 5, 6, 7, 8}
    assert events.wires.messages == pytest.approx(2 * 80 / 4, abs=4)


@pytest.mark.parametrize("latency", [0.0, 1.5])
@cases(
    "fields",
    {"topology": "star", "speed": "log_normal_workers", "slow_workers": 2, "slow_factor": 5},
    {"topology": "ring", "speed": "log_normal", "method": "local_sgd", "local_steps": 3},
)
def test_messages_that_arrive_together_are_those_that_arrive_one_by_one(fields, latency):
    together, apart = (simulation(workers=9, latency=latency, **fields) for _ in range(2))
    assert together._together
    apart._together = False
    for until in (50, 51, 400):
        found, expected = (vars(one.window(until)) for one in (together, apart))
        assert len(found.pop("matrices")) == len(expected.pop("matrices"))
        assert found == expected
    assert (together.now, together.wires.messages) == (apart.now, apart.wires.messages)


def test_all_messages_are_used_once_and_none_is_used_twice():
    events = simulation(method="async_push_sum", topology="directed_ring", workers=5,
                    speed="log_normal", latency=0.7)  # fmt: skip
    window = columns(events.window(500))
    sent = list(zip(window.source, [window.worker[k] for k in window.user], strict=True))
    assert len(set(sent)) == len(sent)
    assert len(sent) + sum(1 for _ in events.wires.live()) == events.wires.messages == 500
    assert set(window.self_weight) == {0.5}


def test_pairs_meet_at_random_neighbours_only_and_not_without_their_messages():
    window = columns(simulation(method="ad_psgd", workers=5, speed="log_normal").window(500))
    met = {(i, j) for i, j in zip(window.worker, window.partner, strict=True)}
    assert met == {(i, (i + s) % 5) for i in range(5) for s in (-1, 1)}
    assert np.unique(window.partner, return_counts=True)[1].min() > 70
    # A worker is in one pair at a time.
    place = {}
    for k in range(500):
        for i in (window.worker[k], window.partner[k]):
            now = window.round[k], window.turn[k]
            assert place.get(i, (-1, 0)) < now
            place[i] = now
    window = columns(simulation(method="ad_psgd", message_loss=0.5).window(400))
    assert window.partner.count(-1) == pytest.approx(300, rel=0.1)


def churned(tmp_path, *rows, **values):
    path = tmp_path / "churn.csv"
    path.write_text("\n".join(["time,worker,event", *rows]))
    return simulation(churn="churn_trace", churn_file=str(path), **values)


def test_workers_that_are_away_take_no_step_are_sent_nothing_and_all_end_a_run(tmp_path):
    events = churned(tmp_path, "2.5,0,leaves", "10.25,0,comes", workers=3)
    window = columns(events.window(40))
    slow = [k for k, worker in enumerate(window.worker) if worker == 0]
    assert [window.t[k] for k in slow] == list(range(len(slow)))
    # Worker 0 ends steps at 1, 2, then 11.25, 12.25, …; the others at 1, 2, 3, …
    named = uses(window)
    assert {t for (worker, t), (its, _) in named if worker == 1 and its == 0} == {
        0, 1, *range(10, len([k for k in window.worker if k == 1])),
    }  # fmt: skip
    assert ((1, 10), (0, 1)) in named  # at 11 it is back, with the model that it had
    assert ((1, 11), (0, 2)) in named
    events = churned(tmp_path, "2.5,0,leaves", "3.5,1,leaves")
    refused("churn: all workers are away", events.window, 20)
    events = churned(tmp_path, "0,2,leaves", workers=3, method="async_push_sum", topology="ring")
    window = columns(events.window(20))
    assert events.wires.messages == 20
    assert window.self_weight == pytest.approx([2 / 3] * 20)


def test_the_weight_of_a_model_that_is_not_there_goes_to_the_own_one():
    events = simulation(workers=3, topology="chain", latency=1.5)
    assert columns(events.window(6)).self_weight == pytest.approx([1.0] * 6)
    # Two steps later the first models have arrived.
    assert columns(events.window(9)).self_weight == pytest.approx([2 / 3, 1 / 3, 2 / 3])


# Runs whose workers wait for each other: their times, by hand.


def times(**values):
    return WaitingTimes(digits_run(**{"clock": "waiting", **values}))


def ring(n=4):
    return TOPOLOGIES["ring"].matrix(n)


def take(each, W, count, size=100):
    for _ in range(count):
        edges = W.edges
        each.step(W, [], edges, edges * size)
    return each.done.tolist()


def test_times_are_the_max_plus_recursion():
    fields = {"workers": 6, "speed": "log_normal", "latency": 0.3}
    each, other = times(**fields), times(**fields)
    W = ring(6)
    done = np.zeros(6)
    for _ in range(30):
        half = np.array([done[i] + other._seconds[i](done[i]) for i in range(6)])
        there = half + 0.3
        done = np.array([max(half[i], there[i - 1], there[(i + 1) % 6]) for i in range(6)])
    assert take(each, W, 30) == pytest.approx(done)


def test_messages_queue_on_both_sides():
    """On a star, five messages of a second each leave its centre, and reach it, in turn."""
    each = times(workers=6, bandwidth=100.0)
    assert take(each, TOPOLOGIES["star"].matrix(6), 1) == [6.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    each = times(workers=3, bandwidth=100.0, slow_workers=1, slow_factor=1.5)
    # Worker 0 sends from 1.5 to 3.5. The others send from 1 to 3, both first to worker 0.
    assert take(each, TOPOLOGIES["complete"].matrix(3), 1) == [3.0, 3.5, 4.0]
    each = times(method="centralized", latency=1.0, bandwidth=100.0)
    each.step(None, [], 8, 800)
    # The last of four arrives at 1 + 1 + 4; the means leave one after another.
    assert each.done.tolist() == [8.0, 9.0, 10.0, 11.0]


def test_delayed_models_are_waited_for_later_and_absent_workers_never():
    # Models sent at 0.5, 1, 1.5, … arrive 10 later and are used two steps after they were sent.
    each = times(method="delayed", delay=2, latency=10.0, step_seconds=0.5)
    assert take(each, ring(), 2) == [1.0] * 4
    assert take(each, ring(), 1) == [10.5] * 4
    assert take(each, ring(), 1) == [11.0] * 4
    each = times()
    each.step(ring(), [2], 0, 0)
    assert each.done.tolist() == [1, 1, 0, 1]


def test_neighbours_wait_for_a_worker_that_is_away(tmp_path):
    path = tmp_path / "churn.csv"
    path.write_text("time,worker,event\n1.5,0,leaves\n10,0,comes\n20,0,leaves\n")
    each = times(churn="churn_trace", churn_file=str(path))
    assert take(each, ring(), 1) == [1.0] * 4
    assert take(each, ring(), 1) == [11.0, 11.0, 2.0, 11.0]
    refused("churn: worker 0 leaves for good", take, each, ring(), 20)


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
