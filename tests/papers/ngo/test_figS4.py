"""Figure S4: correlation of V and accuracy."""

import math

import numpy as np
import pytest
from figure_files import opened
from made_up import BOTH, SEEDS, levels, metrics, run, straight_line

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def correlations(runs):
    """The numbers of the only data set and partition."""
    return opened("figS4").module.numbers(runs).iloc[0]


def test_the_pooled_correlation_differs_from_that_within_a_seed():
    found = correlations(levels())
    ends = levels().query("step == 20")
    r = np.corrcoef(np.log(ends["V"]), ends["consensus_accuracy"])[0, 1]
    assert found["pearson"] == pytest.approx(r)
    assert found["pearson_low"] < r < found["pearson_high"]
    assert found["pearson"] > 0.3  # the seeds' levels
    assert found["within_seed"] == pytest.approx(-1)
    assert math.isnan(found["within_seed_low"])  # straight lines leave no interval
    assert found["seeds"] == 3
    assert found["runs"] == 18


def test_correlations_leave_diverged_runs_out_and_need_a_spread():
    found = correlations(levels(lambda seed: seed == 1))
    assert found["runs"] == 17
    flat = metrics(*(run(0.5, 1.0 + s, seed=s, method=q) for q in BOTH for s in SEEDS))
    found = correlations(flat)
    assert math.isnan(found["pearson"])
    assert math.isnan(found["spearman"])


def test_a_perfect_order_of_few_runs_is_no_certainty():
    """Two of the 4! orders are as extreme; a straight line leaves no interval."""
    found = correlations(straight_line())
    assert found["spearman"] == found["pearson"] == pytest.approx(1)
    assert found["spearman_p"] == pytest.approx(2 / 24)
    assert math.isnan(found["pearson_low"])
