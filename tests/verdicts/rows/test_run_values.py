"""One number of each run, from columns that any table may have."""

import math

import pandas as pd
import pytest

from verdicts.registry import UserError
from verdicts.rows.run_values import per_run, worst_of

CURVES = pd.DataFrame(
    {
        "run": ["a", "a", "a", "b", "b", "b"], "seed": [0, 0, 0, 1, 1, 1],
        "step": [20, 0, 10, 0, 10, 20], "score": [3.0, 1.0, 8.0, 2.0, 2.0, 5.0],
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "expected"),
    [("score", [3, 5]), ({"max": "score"}, [8, 5]), ({"min": "score"}, [3, 2]),
     ({"mean": "score"}, [5.5, 3.5])],
)  # fmt: skip
def test_a_column_at_the_end_or_over_training_without_step_0(value, expected):
    assert per_run(CURVES, value)["value"].tolist() == expected


@pytest.mark.parametrize(
    ("phase", "expected"),
    [({"from": 0, "to": 1}, [5.5, 3.5]), ({"to": 0.5}, [8, 2]), ({"from": 0.5}, [3, 5]),
     ({"from": 0.2, "to": 0.6}, [8, 2])],
)  # fmt: skip
def test_a_mean_of_a_phase_is_over_the_evaluations_after_its_steps(phase, expected):
    assert per_run(CURVES, {"mean": "score", **phase})["value"].tolist() == expected


def test_a_mean_over_training_weights_each_evaluation_by_the_steps_before_it():
    steps, scores = [0, 10, 100, 400], [7.0, 1.0, 2.0, 4.0]
    rows = pd.DataFrame({"run": "a", "seed": 0, "step": steps, "score": scores})
    assert per_run(rows, {"mean": "score"})["value"].item() == (10 * 1 + 90 * 2 + 300 * 4) / 400
    rows.loc[2, "score"] = math.nan  # not measured: the next counts for its steps
    assert per_run(rows, {"mean": "score"})["value"].item() == (10 * 1 + 390 * 4) / 400


def test_a_phase_without_evaluations_has_no_value():
    assert per_run(CURVES, {"mean": "score", "to": 0.4})["value"].isna().all()
    assert per_run(CURVES, {"mean": "score", "from": 0.6, "to": 0.9})["value"].isna().all()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"mean": "score", "from": 0.5, "to": 0.5}, "from 0.5 to 0.5 is not allowed"),
        ({"mean": "score", "from": "early"}, "from 'early' to 1.0 is not allowed"),
        ({"mean": "score", "to": 2}, "from 0.0 to 2 is not allowed"),
        ({"score": 1, "from": 0.5}, "'score' has no phase; 'from' and 'to' go with max, min, mean"),
        ({"from": 0.5}, "is not allowed; give one name"),
    ],
)
def test_a_phase_that_cannot_be(value, message):
    with pytest.raises(UserError, match=f"^value: .*{message}[^\n]*$"):
        per_run(CURVES, value)


def test_a_table_without_steps_has_one_row_for_each_run():
    table = CURVES.drop(columns="step").iloc[[0, 5]]
    assert per_run(table, "score")["value"].tolist() == [3, 5]
    with pytest.raises(UserError, match="step: .* the run 'a' has several rows"):
        per_run(CURVES.drop(columns="step"), "score")


@pytest.mark.parametrize(
    ("column", "worst"),
    [("score", -math.inf), ("test_accuracy", -math.inf), ("return", -math.inf),
     ("val_loss", math.inf), ("error", math.inf)],
)  # fmt: skip
def test_a_diverged_run_has_the_worst_value_of_its_column(column, worst):
    table = CURVES.rename(columns={"score": column}).assign(diverged=CURVES["run"] == "b")
    assert per_run(table, {"mean": column})["value"].tolist() == [5.5, worst]
    assert per_run(table, column)["value"].tolist() == [3, worst]
    ends = table[table["step"] == 20].drop(columns=["run", "step"])  # each row is a run
    assert per_run(ends, column)["value"].tolist() == [3, worst]


def test_the_worst_value_of_another_column_is_asked_for():
    table = CURVES.rename(columns={"score": "seconds"}).assign(diverged=CURVES["run"] == "b")
    with pytest.raises(
        UserError, match="^value: runs diverged, .* low 'seconds' .*; give them inf"
    ):
        per_run(table, "seconds")
    table.loc[table["diverged"], "seconds"] = math.inf
    assert per_run(table, "seconds")["value"].tolist() == [3, math.inf]
    assert per_run(CURVES.rename(columns={"score": "seconds"}), "seconds")["value"].tolist() == [
        3,
        5,
    ]


@pytest.mark.parametrize(
    ("column", "worst"),
    [
        ("accuracy_without_loss", None), ("lossless", None), ("terror", None), ("time", None),
        ("test_loss", math.inf), ("val-losses", math.inf), ("errors@1", math.inf),
        ("Accuracy", -math.inf), ("mean_reward2", -math.inf),
    ],
)  # fmt: skip
def test_the_worst_is_known_by_whole_words_of_one_kind(column, worst):
    assert worst_of(column) == worst


@pytest.mark.parametrize("how", ["mean", "max", "min"])
def test_a_run_whose_values_end_early_has_none_over_training(how):
    rows = CURVES.assign(score=[math.nan, 1, 8, 2, math.nan, 5])
    found = per_run(rows, {how: "score"})["value"]
    assert math.isnan(found[0])
    assert found[1] == 5  # a gap before the end is none
