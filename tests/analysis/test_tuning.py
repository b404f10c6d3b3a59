"""Each method at its own best p and γ."""

import math

import pandas as pd
import pytest
from made_up import tuned_runs

from ngo.analysis import tuning


@pytest.fixture
def metrics():
    return tuned_runs()


def test_gamma_is_chosen_by_held_out_accuracy_alone(metrics):
    """Gossip ties at 0.1 and 0.3: the smaller one. NGO at 1 has a diverged run: it comes last."""
    best = tuning.best_settings(tuning.tuning_grid(metrics)).set_index("method")
    assert best["gamma"].to_dict() == pytest.approx(
        {"centralized": math.nan, "gossip": 0.1, "ngo": 0.3}, nan_ok=True
    )
    assert best["held_out"].to_dict() == pytest.approx({"centralized": 80, "gossip": 60, "ngo": 70})
    assert best.loc["gossip", "edge"] == "smallest"
    assert best.loc[["centralized", "ngo"], "edge"].isna().all()
    assert best["p_edge"].fillna("-").tolist() == ["-", "-", "largest"]


def test_p_is_chosen_with_gamma(metrics):
    better = metrics.copy()
    better.loc[better["p"] == 0.7, "holdout_accuracy"] = 0.95
    best = tuning.best_settings(tuning.tuning_grid(better)).set_index("method")
    assert best.loc["ngo", ["p", "gamma", "p_edge"]].tolist() == [0.7, 0.1, "smallest"]
    assert pd.isna(best.loc["ngo", "edge"])  # p = 0.7 was tried at one γ only


def test_each_p_can_have_its_own_best_gamma(metrics):
    best = tuning.best_settings(tuning.tuning_grid(metrics), ["method", "p"])
    ngo = best[best["method"] == "ngo"].set_index("p")["gamma"]
    assert ngo.to_dict() == {0.9: 0.3, 0.7: 0.1}


def test_the_grid_has_the_accuracy_and_the_lost_runs_at_each_p_and_gamma(metrics):
    grid = tuning.tuning_grid(metrics).set_index(["method", "p", "gamma"]).sort_index()
    assert grid.loc["gossip", "test"].tolist() == pytest.approx([65, 95, 99])
    assert grid.loc[("ngo", 0.9), "diverged"].tolist() == [0, 0, 1]
