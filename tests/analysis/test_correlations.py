"""Correlation of V with test accuracy."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up import levels, metrics, run

from ngo.analysis.correlations import on_log_axis, pooled_correlation, within_seeds
from ngo.analysis.curves import scores
from verdicts.rows.evaluations import final


def test_a_run_without_a_positive_v_is_on_no_log_axis():
    ends = final(scores(metrics(run(0.5, 0.0), run(0.5, 2.0, method="gossip"))))
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
    ends = final(scores(levels(lambda seed: seed == 1)))
    ends.loc[ends["seed"] == 1, "accuracy"] = math.nan
    by_seed = within_seeds(ends, "accuracy")
    assert by_seed["z"].isna().to_dict() == {0: False, 1: True, 2: False}
    assert pooled_correlation(by_seed).seeds == 2
    assert pooled_correlation(by_seed.loc[[1]]).seeds == 0
