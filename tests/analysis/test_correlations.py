"""Correlation of V with test accuracy."""

import math

import numpy as np
import pytest
from made_up import BOTH, SEEDS, levels, metrics, run, straight_line

from ngo.analysis.correlations import correlations, on_log_axis, run_ends
from ngo.common.registry import UserError


def test_the_pooled_correlation_differs_from_that_within_a_seed():
    found = correlations(levels()).iloc[0]
    ends = levels().query("step == 20")
    r = np.corrcoef(np.log(ends["V"]), ends["consensus_accuracy"])[0, 1]
    assert found["pearson"] == pytest.approx(r)
    assert found["pearson_low"] < r < found["pearson_high"]
    assert found["pearson"] > 0.3  # the seeds' levels
    assert found["within_seed"] == pytest.approx(-1)
    assert found["within_seed_ci95"] == pytest.approx(0, abs=1e-9)
    assert found["runs"] == 18


def test_correlations_leave_diverged_runs_out_and_need_a_spread():
    found = correlations(levels(lambda seed: seed == 1)).iloc[0]
    assert found["runs"] == 17
    flat = metrics(*(run(0.5, 1.0 + s, seed=s, protocol=q) for q in BOTH for s in SEEDS))
    found = correlations(flat).iloc[0]
    assert math.isnan(found["pearson"])
    assert math.isnan(found["spearman"])


def test_a_perfect_order_of_few_runs_is_no_certainty():
    """Two of the 4! orders are as extreme; a straight line leaves no interval."""
    found = correlations(straight_line()).iloc[0]
    assert found["spearman"] == found["pearson"] == pytest.approx(1)
    assert found["spearman_p"] == pytest.approx(2 / 24)
    assert math.isnan(found["pearson_low"])


def test_runs_of_one_seed_in_the_same_cell_are_refused():
    with pytest.raises(UserError, match="told apart"):
        run_ends(metrics(run(0.5, gamma=0.1), run(0.5, gamma=0.2)))


def test_a_run_without_a_positive_v_is_on_no_log_axis():
    ends = run_ends(metrics(run(0.5, 0.0), run(0.5, 2.0, protocol="gossip")))
    assert on_log_axis(ends).tolist() == [False, True]
