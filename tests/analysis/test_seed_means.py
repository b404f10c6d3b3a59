"""The last evaluation of each run."""

import math

import pandas as pd
import pytest
from made_up import cell, run

from ngo.analysis.seed_means import check_apart, over_seeds
from ngo.common.registry import UserError
from verdicts.rows.evaluations import final


def test_the_last_evaluation_of_a_diverged_run_has_no_scores():
    rows = cell("ring", "ngo", [0.9, 0.8], diverged=[1])
    last = final(pd.DataFrame(rows))
    assert last["step"].tolist() == [9, 9]
    assert last["consensus_accuracy"].tolist() == pytest.approx([0.9, math.nan], nan_ok=True)
    assert last["train_loss"].isna().tolist() == [False, True]


def test_means_over_seeds_keep_groups_without_a_topology():
    last = final(pd.DataFrame(cell(None, "centralized", [0.7, 0.9])))
    (row,) = over_seeds(last, ["topology", "method"], "consensus_accuracy").to_dict("records")
    assert row["consensus_accuracy"] == pytest.approx(0.8)
    assert math.isnan(row["consensus_accuracy_ci95"])


def test_two_runs_of_one_seed_are_not_seeds():
    runs = pd.DataFrame([*run(0.5, lr=0.1)[-1:], *run(0.5, lr=0.2)[-1:]])
    check_apart(runs, ["method", "lr"])
    with pytest.raises(UserError, match=r"method and seed alone, but there are 0.1-0, 0.2-0;"):
        check_apart(runs, ["method"])
