"""Each protocol at its own best γ."""

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
    best = tuning.best_gammas(tuning.gamma_grid(metrics)).set_index("protocol")
    assert best["gamma"].to_dict() == pytest.approx(
        {"centralized": math.nan, "gossip": 0.1, "ngo": 0.3}, nan_ok=True
    )
    assert best["held_out"].to_dict() == pytest.approx({"centralized": 80, "gossip": 60, "ngo": 70})
    assert best.loc["gossip", "edge"] == "smallest"
    assert best.loc[["centralized", "ngo"], "edge"].isna().all()


def test_runs_of_one_seed_and_gamma_are_no_seeds(metrics):
    again = metrics[metrics["gamma"] == 0.3].assign(run=lambda rows: rows["run"] + "-lr0.2")
    with pytest.raises(UserError, match="told apart here by .*, protocol, gamma and seed alone"):
        tuning.tuned_table(pd.concat([metrics, again]), TABLE1)


def test_the_table_at_each_ones_own_best_gamma(metrics):
    table = tuning.tuned_table(metrics, TABLE1).set_index("protocol")
    assert list(table.index) == ["centralized", "gossip", "ngo"]
    assert table["consensus"].to_dict() == pytest.approx(
        {"centralized": 85, "gossip": 65, "ngo": 66}
    )
    # Paired by seed: 57 − 55, 66 − 65, 75 − 75.
    assert table.loc["ngo", "ngo_minus_gossip"] == pytest.approx(1)
    assert table.loc["ngo", "paper_ngo_minus_gossip"] == pytest.approx(64.84 - 62.30)
    assert table.loc["gossip", ["test_0.1", "test_0.3", "test_1"]].tolist() == pytest.approx(
        [65, 95, 99]
    )
    assert table.loc["ngo", ["diverged_0.3", "diverged_1"]].tolist() == [0, 1]


def test_the_claim_is_of_ngo_and_gossip_at_their_best(metrics):
    claims = tuning.tuned_claims(metrics, TABLE1)
    assert claims["claim"].tolist() == ["ring ngo > ring gossip"]
    assert claims["measured"].tolist() == pytest.approx([1])
    assert claims["verdict"].tolist() == ["undecided"]  # 2, 1, 0: half-width 2.5


def test_a_protocol_that_diverges_at_every_gamma_has_no_accuracy():
    table = tuning.tuned_table(tuned_runs_without_a_stable_gamma(), TABLE1)
    ngo = table[table["protocol"] == "ngo"].iloc[0]
    assert (ngo["gamma"], ngo["diverged"], ngo["seeds"]) == (0.1, 1, 1)
    assert math.isnan(ngo["consensus"])
