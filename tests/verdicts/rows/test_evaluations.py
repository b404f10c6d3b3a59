"""The last evaluation of each run."""

import math

import pandas as pd
import pytest

from verdicts.registry import UserError
from verdicts.rows.evaluations import final, last_evaluations

CURVES = pd.DataFrame(
    {
        "run": ["a", "a", "b"], "step": [9, 0, 3], "test_loss": [1.0, 2.0, 3.0],
        "V": [4.0, 5.0, 6.0],
    }
)  # fmt: skip


def test_the_last_step_counts_in_any_order_of_rows():
    assert final(CURVES)[["run", "step", "test_loss"]].to_numpy().tolist() == [
        ["a", 9, 1.0], ["b", 3, 3.0]
    ]  # fmt: skip


def test_a_diverged_run_has_no_loss_and_keeps_its_V():
    last = final(CURVES.assign(diverged=[True, False, False]))
    assert math.isnan(last["test_loss"][0])
    assert last["V"].tolist() == [4, 6]
    assert last["test_loss"][1] == 3


def test_a_run_that_diverged_in_any_row_has_diverged():
    last = final(CURVES.assign(diverged=[False, True, False]))
    assert last["diverged"].tolist() == [True, False]
    assert math.isnan(last["test_loss"][0])


def test_runs_of_two_universes_may_share_a_name():
    rows = pd.concat([CURVES.assign(universe=0), CURVES.assign(universe=1)], ignore_index=True)
    assert last_evaluations(rows)["V"].tolist() == [4, 6, 4, 6]
    with pytest.raises(UserError, match="^universe: the run 'a' is in several; choose one in"):
        final(rows)
