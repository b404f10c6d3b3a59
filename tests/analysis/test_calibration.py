"""The calibration finds the values that made-up trials were made from."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up import TABLE1
from made_up_trials import candidate, near_at_two, trial, trials

from ngo.analysis.calibration import (
    CALIBRATED,
    CONFIRMED,
    accuracies,
    nearest,
    ranking,
)
from ngo.common.registry import UserError


def first(table, **chosen):
    """The nearest candidate."""
    return ranking(table, **chosen).iloc[0]


def test_an_accuracy_is_a_mean_over_seeds_beside_the_papers():
    table = accuracies(trials(), TABLE1)
    row = table[
        (table["method"] == "gossip") & (table["topology"] == "ring") & (table["gamma"] == 0.1)
        & (table["half"] == "iid") & (table["epochs"] == 2) & (table["reading"] == "consensus")
    ]  # fmt: skip
    (row,) = row.to_dict("records")
    assert row["paper"] == 96.47
    assert row["measured"] == pytest.approx(96.47 + 3)
    assert row["std"] == pytest.approx(math.sqrt(0.5))
    assert (row["seeds"], row["p"], row["local_rule"]) == (2, None, "sgd")
    assert set(table["epochs"]) == {2, 4}  # steps that are no whole epoch count for the nearest


def test_the_nearest_candidate_is_found():
    best = first(accuracies(trials(), TABLE1))
    assert (best["gamma"], best["p"], best["reading"]) == (0.1, 0.9, "consensus")
    assert (best["epochs_iid"], best["epochs_noniid"]) == (2, 2)
    assert best["calibrated"] == pytest.approx(3)
    assert best["confirmed"] == pytest.approx(3)


def test_each_half_may_have_its_own_number_of_epochs():
    best = first(accuracies(trials(), TABLE1), common=False)
    assert (best["epochs_iid"], best["epochs_noniid"]) == (2, 4)
    assert best["calibrated_iid"] == pytest.approx(3)
    assert best["calibrated_noniid"] == pytest.approx(1)
    assert best["calibrated"] == pytest.approx(math.sqrt(5))


def test_the_workers_mean_wins_where_it_is_nearer():
    runs = pd.DataFrame(candidate(lambda half, epoch: 20.0))
    best = first(accuracies(runs, TABLE1))
    shared = runs["method"] == "centralized"
    assert best["reading"] == "workers"
    assert best["calibrated"] == pytest.approx(0)
    runs.loc[shared, "workers_accuracy_mean"] = runs["consensus_accuracy"]
    best = first(accuracies(runs, TABLE1))
    assert best["calibrated"] == pytest.approx(math.sqrt(20**2 / 3))  # one cell of three


def test_cells_that_confirm_take_no_part_in_the_choice():
    near = pd.DataFrame(candidate(lambda half, epoch: 1.0, cells=CALIBRATED))
    far = pd.DataFrame(candidate(lambda half, epoch: 30.0, cells=CONFIRMED))
    other = pd.DataFrame(candidate(lambda half, epoch: 2.0, lr=0.1))
    ranked = ranking(accuracies(pd.concat([near, far, other]), TABLE1))
    ranked = ranked[ranked["reading"] == "consensus"]
    assert ranked["lr"].tolist() == [0.05, 0.1]
    assert ranked["calibrated"].tolist() == pytest.approx([1, 2])
    assert ranked["confirmed"].tolist() == pytest.approx([30, 2])


def test_a_diverged_run_puts_its_candidate_last():
    runs = trials()
    healthy = (runs["gamma"] != 0.1) | (runs["method"] != "ngo") | (runs["topology"] != "ring")
    lost = [
        row
        for half in ("iid", "noniid")
        for row in trial(("ring", "ngo"), half, lambda epoch, seed: 96.0, seeds=(0, 1), lost=(1,))
    ]
    ranked = ranking(accuracies(pd.concat([runs[healthy], pd.DataFrame(lost)]), TABLE1))
    assert ranked["gamma"].tolist() == [0.2, 0.2, 0.1, 0.1]
    assert ranked["calibrated"].isna().tolist() == [False, False, True, True]


def test_every_field_that_is_free_is_in_the_ranking():
    """A candidate that differs in one field alone is another candidate."""
    others = {
        "lr": 0.1, "batch_size": 64, "local_rule": "momentum", "lr_schedule": "cosine",
        "momentum": 0.9, "augmentation": "crop_flip", "gamma": 0.3, "p": 0.8,
    }  # fmt: skip
    for name, value in others.items():
        rows = candidate(near_at_two) + candidate(near_at_two, **{name: value})
        runs = pd.DataFrame(rows).drop_duplicates(["run", "step"])
        ranked = ranking(accuracies(runs, TABLE1))
        assert value in set(ranked[name]), name
        assert len(ranked) == 4, name


def test_runs_that_differ_elsewhere_are_refused():
    runs = trials()
    again = runs.assign(workers=20, run=runs["run"] + "-n20")
    with pytest.raises(UserError, match="put runs that differ in other fields into another"):
        accuracies(pd.concat([runs, again]), TABLE1)


def test_the_nearest_trial_of_each_cell():
    found = nearest(accuracies(trials(), TABLE1)).set_index(["half", "topology", "method"])
    assert len(found) == 14
    gaps = (found["measured"] - found["paper"]).abs()
    assert gaps["iid"].to_numpy() == pytest.approx(np.full(7, 3.0))
    assert gaps["noniid"].to_numpy() == pytest.approx(np.full(7, 1.0))
