"""The last evaluation of each run."""

import math

import pandas as pd

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


def test_all_rows_of_a_table_without_runs_are_last():
    assert len(last_evaluations(CURVES.drop(columns="run"))) == 3
