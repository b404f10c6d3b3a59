"""Runs at an equal number of bytes, or of steps."""

import math

import pandas as pd
import pytest
from made_up import metrics, run

from verdicts.rows.equal_budgets import at_equal_bytes, at_equal_steps, shared_steps


def two(share=0.5, **other):
    """Gossip, and NGO that sends a ``share`` as much; both at 10, 80 and 70 %."""
    frugal = run(0.7, method="ngo", **other)
    frugal = [{**row, "bytes_sent": row["bytes_sent"] * share} for row in frugal]
    return metrics(run(0.7, method="gossip"), frugal)


def at(table, value):
    return table.set_index("method")[value].to_dict()


def test_runs_are_compared_after_the_bytes_of_the_run_that_sent_least():
    table = at_equal_bytes(two(0.5), ["consensus_accuracy", "V"])
    assert at(table, "consensus_accuracy") == pytest.approx({"gossip": 0.8, "ngo": 0.7})
    quarter = at_equal_bytes(two(0.25), ["consensus_accuracy"])
    # A quarter of gossip's two intervals: halfway between 10 and 80 %.
    assert at(quarter, "consensus_accuracy") == pytest.approx({"gossip": 0.45, "ngo": 0.7})
    assert quarter["budget"].nunique() == 1


def test_the_budget_is_that_of_the_seed_and_of_the_partition():
    other = metrics(run(0.7, method="gossip", seed=1), run(0.7, method="gossip", partition="iid"))
    table = at_equal_bytes(pd.concat([two(0.25), other], ignore_index=True), ["consensus_accuracy"])
    alone = (table["seed"] == 1) | (table["partition"] == "iid")
    assert table.loc[alone, "consensus_accuracy"].tolist() == pytest.approx([0.7, 0.7])


def test_a_diverged_run_has_no_value_and_sets_no_budget():
    table = at_equal_bytes(two(0.25, diverged=True), ["consensus_accuracy"])
    assert at(table, "consensus_accuracy") == pytest.approx(
        {"gossip": 0.7, "ngo": math.nan}, nan_ok=True
    )


def test_runs_are_compared_after_the_steps_that_all_took():
    shorter = [{**row, "step": row["step"] * 3 // 4} for row in run(0.7, method="ngo")]
    rows = metrics(run(0.7, method="gossip"), shorter)
    assert shared_steps(rows) == 15
    table = at_equal_steps(rows, ["consensus_accuracy"])
    assert at(table, "consensus_accuracy") == pytest.approx({"gossip": 0.75, "ngo": 0.7})
