import math

import pytest
from measured_runs import ended, evaluations, table

from verdicts.registry import UserError
from verdicts.run_values import per_run


def value(rows, name):
    return per_run(table(rows), name)["value"].item()


def test_values_at_the_end():
    values = {"accuracy": 60, "workers_accuracy": 50, "merge_gain": 10, "V": 4}
    values |= {"loss": 0.5, "workers_loss": 1, "train_loss": 1.5}
    rows = ended(accuracy=0.6, V=4.0, loss=0.5)
    assert {name: value(rows, name) for name in values} == pytest.approx(values)
    rows = evaluations([{"step": k, "accuracy": a} for k, a in enumerate((0.1, 0.7, 0.6))])
    assert value(rows, "best_accuracy") == pytest.approx(70)
    rows = evaluations([{"step": 0}, {"step": 50, "messages": 1000}])
    assert value(rows, "edges") == 10


@pytest.mark.parametrize(
    ("name", "worst"),
    [("accuracy", -math.inf), ("V", math.inf), ("loss", math.inf), ("best_accuracy", -math.inf),
     ({"steps_to_accuracy": 50}, math.inf), ({"mean": "V"}, math.inf)],
)  # fmt: skip
def test_a_diverged_run_has_the_worst_value(name, worst):
    assert value(ended(accuracy=0.9, diverged=True), name) == worst


def test_the_time_to_a_target_is_linear_between_evaluations():
    curve = ((0, 0.1, 2.0), (100, 0.5, 1.0), (200, 0.9, 0.5))
    rows = evaluations([{"step": s, "accuracy": a, "loss": x} for s, a, x in curve])
    assert value(rows, {"steps_to_accuracy": 70}) == pytest.approx(150)
    assert value(rows, {"epochs_to_accuracy": 70}) == pytest.approx(15)
    assert value(rows, {"steps_to_loss": 0.75}) == pytest.approx(150)
    assert value(rows, {"steps_to_accuracy": 95}) == math.inf
    more = ({"virtual_seconds": row["step"] / 10, "joules": 2.0 * row["step"]} for row in rows)
    timed = [row | own for row, own in zip(rows, more, strict=True)]
    assert value(timed, {"virtual_seconds_to_accuracy": 70}) == pytest.approx(15)
    assert value(timed, {"joules_to_loss": 0.75}) == pytest.approx(300)
    with pytest.raises(UserError, match="joules: not all of these runs have it"):
        value(rows, {"joules_to_accuracy": 70})


def curve(*accuracies):
    """A run whose first half is flat."""
    start = [{"step": 0, "accuracy": 0.5}]
    steps = range(len(accuracies), 2 * len(accuracies))
    return start + [{"step": s, "accuracy": a} for s, a in zip(steps, accuracies, strict=True)]


def test_an_alternating_curve_fluctuates_and_short_and_flat_ones_do_not():
    rows = evaluations(curve(0.5, 0.6, 0.5, 0.6, 0.5, 0.6))
    assert value(rows, "fluctuation") == pytest.approx(10)
    # Five changes of ±10 points: four products of −100 over five squares of 100.
    assert value(rows, "lag1") == pytest.approx(-0.8)
    assert math.isnan(value(evaluations(curve(0.1, 0.2, 0.1)), "fluctuation"))
    assert math.isnan(value(evaluations(curve(*[0.5] * 6)), "lag1"))
    assert value(evaluations(curve(*[0.5] * 6)), "fluctuation") == 0
