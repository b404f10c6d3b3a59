"""Each method at its own best p and γ."""

import math

import pandas as pd
import pytest
from made_up import TABLE1, tuned_runs, tuned_runs_without_a_stable_gamma

from ngo.analysis import tuning
from ngo.common.registry import UserError


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
    table = tuning.tuned_table(better, TABLE1).set_index("method")
    assert table["seeds"].to_dict() == {"centralized": 3, "gossip": 3, "ngo": 3}


def test_each_p_can_have_its_own_best_gamma(metrics):
    best = tuning.best_settings(tuning.tuning_grid(metrics), ["method", "p"])
    ngo = best[best["method"] == "ngo"].set_index("p")["gamma"]
    assert ngo.to_dict() == {0.9: 0.3, 0.7: 0.1}


def test_runs_of_one_seed_and_gamma_are_no_seeds(metrics):
    again = metrics[metrics["gamma"] == 0.3].assign(run=lambda rows: rows["run"] + "-lr0.2")
    with pytest.raises(UserError, match="told apart here by .*, method, p, gamma and seed alone"):
        tuning.tuned_table(pd.concat([metrics, again]), TABLE1)


def test_the_table_at_each_ones_own_best_gamma(metrics):
    table = tuning.tuned_table(metrics, TABLE1).set_index("method")
    assert list(table.index) == ["centralized", "gossip", "ngo"]
    assert table["consensus"].to_dict() == pytest.approx(
        {"centralized": 85, "gossip": 65, "ngo": 66}
    )
    # Paired by seed: 57 − 55, 66 − 65, 75 − 75.
    assert table.loc["ngo", "ngo_minus_gossip"] == pytest.approx(1)
    assert table.loc["ngo", "paper_ngo_minus_gossip"] == pytest.approx(64.84 - 62.30)
    assert table.loc["ngo", ["p", "gamma"]].tolist() == [0.9, 0.3]
    grid = tuning.tuning_grid(metrics).set_index(["method", "p", "gamma"])
    grid = grid.sort_index()
    assert grid.loc["gossip", "test"].tolist() == pytest.approx([65, 95, 99])
    assert grid.loc[("ngo", 0.9), "diverged"].tolist() == [0, 0, 1]


def test_a_method_that_diverges_at_every_gamma_has_no_accuracy():
    table = tuning.tuned_table(tuned_runs_without_a_stable_gamma(), TABLE1)
    ngo = table[table["method"] == "ngo"].iloc[0]
    assert (ngo["gamma"], ngo["diverged"], ngo["seeds"]) == (0.1, 1, 1)
    assert math.isnan(ngo["consensus"])
