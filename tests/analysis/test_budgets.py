"""Runs after equal budgets, and when they reach a target."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up import metrics, run

from ngo.analysis.budgets import at_equal_bytes, at_equal_steps, crossing, shared_steps, time_to


def two(share=0.5, **other):
    """Gossip, and NGO that sends a ``share`` as much; both at 10, 80 and 70 %."""
    frugal = run(0.7, method="ngo", **other)
    frugal = [{**row, "bytes_sent": row["bytes_sent"] * share} for row in frugal]
    return metrics(run(0.7, method="gossip"), frugal)


def at(table, value):
    return table.set_index("method")[value].to_dict()


def test_runs_are_compared_after_equal_bytes_or_steps():
    table = at_equal_bytes(two(0.5), ["consensus_accuracy", "V"])
    assert at(table, "consensus_accuracy") == pytest.approx({"gossip": 0.8, "ngo": 0.7})
    quarter = at_equal_bytes(two(0.25), ["consensus_accuracy"])
    # A quarter of gossip's two intervals: halfway between 10 and 80 %.
    assert at(quarter, "consensus_accuracy") == pytest.approx({"gossip": 0.45, "ngo": 0.7})
    assert quarter["budget"].nunique() == 1
    shorter = [{**row, "step": row["step"] * 3 // 4} for row in run(0.7, method="ngo")]
    rows = metrics(run(0.7, method="gossip"), shorter)
    assert shared_steps(rows) == 15
    table = at_equal_steps(rows, ["consensus_accuracy"])
    assert at(table, "consensus_accuracy") == pytest.approx({"gossip": 0.75, "ngo": 0.7})


def course(name, losses, *, diverged=False):
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


def test_a_count_whose_share_is_a_target_in_percent_reaches_it():
    """94 · 0.01 is not 0.94 in floats: counts of samples decide, for all targets 0.1 … 99.9."""
    for count in range(1, 1000):
        x, y = np.array([0.0, 1.0]), np.array([(count - 1) / 1000, count / 1000])
        assert crossing(x, y, count / 10 * 0.01) == pytest.approx(1), count
        assert crossing(x, y - 1 / 1000, count / 10 * 0.01) == math.inf, count


def test_a_loss_falls_to_its_target_and_an_accuracy_rises():
    lost = course("c", [0.9, 0.3, 0.3, math.nan], diverged=True)
    metrics = course("a", [0.9, 0.7, 0.3, 0.6]), course("b", [0.9, 0.8, 0.7, 0.6]), lost
    metrics = pd.concat(metrics)
    epochs = time_to(metrics, 0.5, "consensus_loss")
    assert epochs["a"] == pytest.approx(0.375)
    assert epochs[["b", "c"]].tolist() == [math.inf, math.inf]  # too late, diverged
    assert time_to(metrics, 0.5, "consensus_accuracy", "step")["a"] == pytest.approx(90)
