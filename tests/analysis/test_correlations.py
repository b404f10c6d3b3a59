"""Correlation of V with test accuracy."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up import BOTH, SEEDS, levels, metrics, run, straight_line

from ngo.analysis.correlations import (
    correlations,
    on_log_axis,
    pooled_correlation,
    run_ends,
    within_seeds,
)
from ngo.common.registry import UserError


def test_the_pooled_correlation_differs_from_that_within_a_seed():
    found = correlations(levels()).iloc[0]
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
    found = correlations(levels(lambda seed: seed == 1)).iloc[0]
    assert found["runs"] == 17
    flat = metrics(*(run(0.5, 1.0 + s, seed=s, method=q) for q in BOTH for s in SEEDS))
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
    ends = run_ends(metrics(run(0.5, 0.0), run(0.5, 2.0, method="gossip")))
    assert on_log_axis(ends).tolist() == [False, True]


def test_within_seeds_against_numpy():
    random = np.random.default_rng(0)
    V, accuracy = np.exp(random.standard_normal((2, 4, 5)))
    ends = pd.DataFrame(
        {"seed": np.repeat(range(4), 5), "V": V.ravel(), "accuracy": accuracy.ravel()}
    )
    by_seed = within_seeds(ends, "accuracy")
    for seed in range(4):
        r = np.corrcoef(np.log(V[seed]), accuracy[seed])[0, 1]
        slope = np.polyfit(np.log(V[seed]), accuracy[seed], 1)[0]
        assert by_seed.loc[seed, ["r", "z", "slope"]].tolist() == pytest.approx(
            [r, math.atanh(r), slope]
        )
    pooled = pooled_correlation(by_seed)
    assert pooled.r == pytest.approx(math.tanh(by_seed["z"].mean()))
    assert -1 <= pooled.low < pooled.r < pooled.high <= 1
    assert pooled.seeds == 4


def test_a_seed_whose_runs_all_diverged_has_no_correlation():
    ends = run_ends(levels(lambda seed: seed == 1))
    ends.loc[ends["seed"] == 1, "accuracy"] = math.nan
    by_seed = within_seeds(ends, "accuracy")
    assert by_seed["z"].isna().to_dict() == {0: False, 1: True, 2: False}
    assert pooled_correlation(by_seed).seeds == 2
    assert pooled_correlation(by_seed.loc[[1]]).seeds == 0
