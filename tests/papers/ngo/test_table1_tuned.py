"""Table 1 with each method at its own best p and γ."""

import math

import pandas as pd
import pytest
from figure_files import executed, functions
from made_up import TABLE1, tuned_runs, tuned_runs_without_a_stable_gamma

from ngo.common.registry import UserError


def shown(runs):
    """The tables as they are printed, by name."""
    return executed("table1_tuned", runs, reference=TABLE1)["printed"]


def test_the_best_gamma_is_printed_with_its_edge():
    printed = shown(tuned_runs())["table1_tuned"].set_index("Method")
    assert printed["Best γ"].to_dict() == {
        "centralized": "–", "gossip": "0.1 (smallest)", "ngo": "0.3"
    }  # fmt: skip
    assert printed["Best p"].tolist() == ["–", "1", "0.9 (largest)"]


def test_the_grid_has_a_row_for_each_p_and_marks_the_best():
    printed = shown(tuned_runs())["table1_tuned_grid"].set_index(["Method", "p"])
    assert list(printed.index) == [("gossip", "1"), ("ngo", "0.9"), ("ngo", "0.7")]
    assert printed.loc[("ngo", "0.9"), "γ = 1"] == "1 of 3 diverged"
    assert printed.loc[("ngo", "0.7"), "γ = 1"] == "–"
    starred = printed.filter(like="γ").map(lambda text: text.endswith(" *"))
    assert starred.to_numpy().sum() == 2
    assert starred.loc[("ngo", "0.9"), "γ = 0.3"]
    assert starred.loc[("gossip", "1"), "γ = 0.1"]


def test_runs_of_one_seed_and_gamma_are_no_seeds():
    metrics = tuned_runs()
    again = metrics[metrics["gamma"] == 0.3].assign(run=lambda rows: rows["run"] + "-lr0.2")
    with pytest.raises(UserError, match="distinguished here by .*, p, gamma and seed alone"):
        shown(pd.concat([metrics, again]))


def test_the_table_at_each_ones_own_best_gamma():
    table = functions("table1_tuned").tuned_table(tuned_runs(), TABLE1).set_index("method")
    assert list(table.index) == ["centralized", "gossip", "ngo"]
    assert table["consensus"].to_dict() == pytest.approx(
        {"centralized": 85, "gossip": 65, "ngo": 66}
    )
    # Paired by seed: 57 − 55, 66 − 65, 75 − 75.
    assert table.loc["ngo", "ngo_minus_gossip"] == pytest.approx(1)
    assert table.loc["ngo", "paper_ngo_minus_gossip"] == pytest.approx(64.84 - 62.30)
    assert table.loc["ngo", ["p", "gamma"]].tolist() == [0.9, 0.3]


def test_no_stable_gamma_has_no_accuracy():
    runs = tuned_runs_without_a_stable_gamma()
    table = functions("table1_tuned").tuned_table(runs, TABLE1)
    ngo = table[table["method"] == "ngo"].iloc[0]
    assert (ngo["gamma"], ngo["diverged"], ngo["seeds"]) == (0.1, 1, 1)
    assert math.isnan(ngo["consensus"])
