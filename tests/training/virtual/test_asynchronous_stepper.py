import gc
from dataclasses import replace

import pytest
import torch
from event_by_event import EventByEvent
from runs import (
    CONVEX,
    digits_run,
    interrupted,
    left,
    resumed,
    run_in,
    tiny,
    trained,
    without_clock,
)

from ngo.data import loading
from ngo.training.learning_problem import make_problem
from ngo.virtual.asynchronous_stepper import AsynchronousStepper

RANDOM = {"clock": "asynchronous", "speed": "log_normal", "latency": 0.3}


def in_float64(spec, root):
    data = loading.load(spec.dataset, root)
    names = ("train_inputs", "train_targets", "test_inputs", "test_targets")
    return make_problem(spec, replace(data, **{n: getattr(data, n).double() for n in names}))


@pytest.mark.parametrize(
    "method",
    [
        {"method": "ngo", "p": 0.9, "gamma": 0.5},
        {"method": "gossip"},
        {"method": "dsgd", "topology": "star"},
        {"method": "local_sgd", "local_steps": 3},
        {
            **{"method": "ngo", "p": 0.9, "gamma": 0.5, "schedule": "phases"},
            **{"second_phase": 0.4, "second_topology": "complete", "second_gamma": 0.2},
        },
        {"method": "outer", "local_steps": 3, "p": 0.9, "gamma": 0.5},
        {"method": "noloco", "local_steps": 2, "outer_momentum": 0.5},
        {"method": "gasloc", "local_steps": 3, "gamma": 0.5, "outer_momentum": 0.5},
        {"method": "ad_psgd"},
        {"method": "async_push_sum", "topology": "directed_ring"},
        {"method": "ngo", "p": 0.9, "latency": 0.0},
        {"method": "ad_psgd", "latency": 2.5},
        {"method": "outer", "local_steps": 3, "latency": 2.5},
    ],
    ids=lambda fields: "-".join(map(str, fields.values())),
)
def test_batches_of_steps_equal_one_event_after_another(method, tmp_path):
    """In float64, over 50 steps of each of five workers on average."""
    spec = digits_run(**CONVEX, **RANDOM | method, workers=5, lr=0.02, epochs=50)
    torch.set_default_dtype(torch.float64)
    try:
        problem = in_float64(spec, tmp_path)
        expected = EventByEvent(spec, problem).run(250)
        stepper = AsynchronousStepper(spec, problem, [23, 50], backend="loop")
        while stepper.t < 50:
            stepper.advance()
        assert stepper.taken == 250
        assert stepper.population.X.numpy() == pytest.approx(expected, rel=1e-6, abs=1e-9)
    finally:
        torch.set_default_dtype(torch.float32)


def same_rows(rows):
    """Evaluations without what measures time."""
    return [row | {"virtual_seconds": 0, "joules": 0} for row in without_clock(rows)]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"method": "dsgd", "topology": "random"},
        {"method": "gasloc", "local_steps": 3, "local_rule": "adamw", "lr": 0.001},
        {"method": "async_push_sum", "topology": "one_peer_exponential"},
        {"lr_schedule": "cosine", "gamma_decay": 0.5, "topology": "alternating_matching"},
    ],
    ids=str,
)
def test_equal_speeds_without_latency_are_the_run_without_time(digits, fields):
    fields = {"epochs": 0.4, **fields}
    without = trained(digits_run(workers=6, **fields), digits)
    timed = trained(digits_run(workers=6, clock="asynchronous", **fields), digits)
    assert torch.equal(without[1].X, timed[1].X)
    assert torch.equal(without[1].G, timed[1].G)
    assert same_rows(without[0]) == same_rows(timed[0])
    assert [row.virtual_seconds for row in timed[0]] == [row.step for row in timed[0]]


@pytest.mark.parametrize("reads", [True, False])
def test_steps_of_several_numbers_are_taken_at_once_unless_their_number_is_read(digits, reads):
    """Momentum does not read it, and Adam does. Both equal steps that are taken one by one."""
    rule = {"local_rule": "adam", "lr": 0.001} if reads else {"local_rule": "momentum"}
    spec = digits_run(**RANDOM, **rule, workers=6)
    steppers = [AsynchronousStepper(spec, make_problem(spec, digits), [15]) for _ in range(2)]
    steppers[1]._by_number = True
    for stepper in steppers:
        while stepper.t < 15:
            stepper.advance()
    assert steppers[0]._by_number == reads
    assert torch.allclose(*(each.population.X for each in steppers), atol=1e-6)


def test_evaluations_follow_the_samples_of_all_workers(digits):
    spec = digits_run(**RANDOM, slow_workers=1, slow_factor=8.0, joules_step=2.0, joules_byte=1e-6)
    rows, _ = trained(spec, digits)
    assert [row.step for row in rows] == [0, 11, 22]
    for row in rows:
        assert row.samples == row.step * 4 * 16  # no two steps end at one moment
        assert row.joules == pytest.approx(2 * row.samples / 16 + 1e-6 * row.bytes_sent)
    assert 0 < rows[1].virtual_seconds < rows[2].virtual_seconds < 22 * 8


@pytest.mark.parametrize(
    "fields",
    [{"local_rule": "momentum"}, {"method": "ad_psgd"}, {"method": "outer", "local_steps": 3}],
    ids=str,
)
def test_a_run_continues_from_its_checkpoint(tmp_path, fields):
    spec = tiny(**RANDOM, **fields, message_loss=0.1)
    run_in(spec, tmp_path / "whole")
    interrupted(spec, tmp_path / "stopped", step=6)
    run_in(spec, tmp_path / "stopped")
    assert resumed(tmp_path / "stopped") == [6]
    assert left(tmp_path / "stopped") == left(tmp_path / "whole")


def test_the_number_of_threads_and_the_time_of_a_run_change_nothing(digits):
    spec = digits_run(**RANDOM, workers=6)
    (rows, one), (again, two) = (trained(spec, digits, threads=k) for k in (1, 3))
    assert torch.equal(one.X, two.X)
    assert without_clock(rows) == without_clock(again)


def test_a_worker_that_leaves_for_good_keeps_its_model(digits, tmp_path):
    path = tmp_path / "churn.csv"
    path.write_text("time,worker,event\n0,2,leaves\n")
    spec = digits_run(clock="asynchronous", churn="churn_trace", churn_file=str(path))
    rows, population = trained(spec, digits)
    problem = make_problem(spec, digits)
    untouched = AsynchronousStepper(spec, problem, [1]).population.X
    assert torch.equal(population.X[2], untouched[2])
    assert rows[-1].virtual_seconds == pytest.approx(22 * 4 / 3, abs=1)
    assert rows[-1].messages < 22 * 8


def test_garbage_is_collected_again_whatever_happens(digits, monkeypatch):
    spec = digits_run(clock="asynchronous")
    stepper = AsynchronousStepper(spec, make_problem(spec, digits), [15])

    def interrupted(until):
        assert not gc.isenabled()
        raise KeyboardInterrupt

    monkeypatch.setattr(stepper._simulation, "window", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stepper.advance()
    assert gc.isenabled()
