"""When a run first reaches a target."""

import math

import numpy as np
import pandas as pd
import pytest

from verdicts.rows.evaluations import crossing, time_to


def run(name, losses, *, diverged=False):
    """An evaluation every quarter of an epoch, 60 steps."""
    frame = pd.DataFrame({"consensus_loss": losses, "step": 60 * np.arange(len(losses))})
    frame = frame.assign(run=name, epoch=frame["step"] / 240, diverged=diverged)
    return frame.assign(consensus_accuracy=1 - frame["consensus_loss"])


def test_a_crossing_is_linear_between_evaluations():
    x, y = np.array([0.0, 1, 2, 3]), np.array([0.1, 0.5, 0.4, 0.9])
    assert crossing(x, y, 0.3) == pytest.approx(0.5)
    assert crossing(x, y, 0.5) == 1
    assert crossing(x, y, 0.1) == 0
    assert crossing(x, y, 0.95) == math.inf
    assert crossing(x, np.array([0.1, math.nan, 0.4, 0.9]), 0.4) == 2


@pytest.mark.parametrize("size", [1000, 10_000])
@pytest.mark.parametrize("factor", [0.01, None])
def test_a_count_whose_share_is_a_target_in_percent_reaches_it(size, factor):
    """94 · 0.01 is not 0.94 in floats: counts of samples decide, for all targets 0.1 … 99.9."""
    for tenths in range(1, 1000):
        target = tenths / 10 * factor if factor else tenths / 10 / 100
        count = tenths * size // 1000  # exactly tenths / 1000
        x, y = np.array([0.0, 1.0]), np.array([(count - 1) / size, count / size])
        assert crossing(x, y, target) == pytest.approx(1), (tenths, size)
        assert crossing(x, y - 1 / size, target) == math.inf, (tenths, size)
        assert crossing(x, -y[::-1], -target) == pytest.approx(0), (tenths, size)


def test_a_loss_falls_to_its_target_and_an_accuracy_rises():
    metrics = pd.concat(
        [
            run("a", [0.9, 0.7, 0.3, 0.6]),
            run("b", [0.9, 0.8, 0.7, 0.6]),
            run("c", [0.9, 0.3, 0.3, math.nan], diverged=True),
        ]
    )
    epochs = time_to(metrics, 0.5, "consensus_loss")
    assert epochs["a"] == pytest.approx(0.375)
    assert epochs[["b", "c"]].tolist() == [math.inf, math.inf]  # too late, diverged
    steps = time_to(metrics, 0.5, "consensus_accuracy", "step")
    assert steps["a"] == pytest.approx(90)
