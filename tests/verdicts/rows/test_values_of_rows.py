"""Values of runs and of seeds."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up import metrics, run
from measured_runs import ended, pairs, table

from verdicts.registry import UserError
from verdicts.run_values import (
    at_equal_bytes,
    at_equal_steps,
    crossing,
    final,
    per_run,
    shared_steps,
    time_to,
    worst_of,
)
from verdicts.scores import FIRST_LOOK, at_best, by_seed, runs_by_seed, total, weighted_sum

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


@pytest.mark.parametrize(
    ("column", "worst"),
    [("score", -math.inf), ("val_loss", math.inf)],
)
def test_a_diverged_run_has_the_worst_value_of_its_column(column, worst):
    table = CURVES.rename(columns={"score": column}).assign(diverged=CURVES["run"] == "b")
    assert per_run(table, {"mean": column})["value"].tolist() == [5.5, worst]
    assert per_run(table, column)["value"].tolist() == [3, worst]
    ends = table[table["step"] == 20].drop(columns=["run", "step"])  # each row is a run
    assert per_run(ends, column)["value"].tolist() == [3, worst]


@pytest.mark.parametrize(
    ("column", "worst"),
    [
        ("accuracy_without_loss", None), ("lossless", None), ("terror", None), ("time", None),
        ("test_loss", math.inf), ("val-losses", math.inf), ("errors@1", math.inf),
        ("Accuracy", -math.inf), ("mean_reward2", -math.inf), ("return", -math.inf),
    ],
)  # fmt: skip
def test_the_worst_is_known_by_whole_words_of_one_kind(column, worst):
    assert worst_of(column) == worst


INF = math.inf


def frame(columns, seeds=(0, 1)):
    made = pd.DataFrame(dict(enumerate(columns.values())), index=pd.Index(seeds, name="seed"))
    made.columns = pd.Index(list(columns), tupleize_cols=False)
    return made.astype(float)


def test_seeds_by_keys():
    rows = pd.concat(
        [pairs([0.5, 0.6], [0.1, 0.2], topology="ring"), pairs([0.7], [0.3], topology="complete")],
        ignore_index=True,
    )
    found = by_seed(rows, {"method": "ngo"}, "accuracy", ["topology"])
    assert set(found.columns) == {("ring",), ("complete",)}
    assert found[[("ring",)]].iloc[:, 0].tolist() == pytest.approx([50, 60])
    assert found[[("complete",)]].iloc[:, 0].tolist() == pytest.approx([70, math.nan], nan_ok=True)


def test_two_runs_of_a_seed_are_refused():
    rows = pairs([0.5], [0.1])
    said = "^runs gossip-s0 and ngo-s0 have the same seed and differ in .*method"
    with pytest.raises(UserError, match=said):
        by_seed(pairs([0.5, 0.6], [0.1, 0.2]), {}, "accuracy")
    with pytest.raises(UserError, match="over: there is no column 'methd'. Did you mean"):
        runs_by_seed(rows, "accuracy", ["methd"])


def test_two_rows_of_a_seed_are_told_apart():
    rows = pd.DataFrame({"dataset": list("baab"), "seed": [0, 1, 2, 1], "score": 1.0})
    with pytest.raises(UserError, match="^rows 2 and 4 have the same seed and differ in dataset"):
        runs_by_seed(rows, "score")
    with pytest.raises(UserError, match=r"^rows 2 and 4 are the same \(seed 1\)"):
        runs_by_seed(rows.assign(dataset="a"), "score")


def test_centralized_training_counts_for_every_topology():
    one = frame({("ring",): [5, 6], ("complete",): [8, 9]})
    shared = frame({(None,): [10, 20]})
    found = weighted_sum([(1, shared), (-1, one)])
    assert found[[("ring",)]].iloc[:, 0].tolist() == [5, 14]
    assert found[[("complete",)]].iloc[:, 0].tolist() == [2, 11]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2], 3), ([INF, 1], INF), ([-INF, 1], -INF), ([INF, -INF], math.nan),
     ([INF, math.nan], math.nan),
     ([INF, -INF, math.nan], math.nan)],
)  # fmt: skip
def test_totals_with_infinities(values, expected):
    assert float(total(np.array(values, float))) == pytest.approx(expected, nan_ok=True)


LOSSES = pd.DataFrame(
    {
        "run": ["a", "a", "b"], "step": [9, 0, 3], "test_loss": [1.0, 2.0, 3.0],
        "V": [4.0, 5.0, 6.0],
    }
)  # fmt: skip


@pytest.mark.parametrize("diverged", [[True, False, False], [False, True, False]])
def test_a_run_that_diverged_in_any_row_has_no_loss_and_keeps_its_V(diverged):
    last = final(LOSSES.assign(diverged=diverged))
    assert last["diverged"].tolist() == [True, False]
    assert last["test_loss"].tolist() == pytest.approx([math.nan, 3], nan_ok=True)
    assert last["V"].tolist() == [4, 6]


def two(share=0.5, **other):
    """Gossip, and NGO that sends a ``share`` as much; both at 10, 80 and 70 %."""
    frugal = run(0.7, method="ngo", **other)
    frugal = [{**row, "bytes_sent": row["bytes_sent"] * share} for row in frugal]
    return metrics(run(0.7, method="gossip"), frugal)


def at(table, value):
    return table.set_index("method")[value].to_dict()


def test_runs_are_compared_after_the_bytes_of_the_run_that_sent_least():
    table = at_equal_bytes(two(0.5), ["consensus_accuracy", "V"])
    assert at(table, "consensus_accuracy") == pytest.approx({"gossip": 0.8, "ngo": 0.7})
    quarter = at_equal_bytes(two(0.25), ["consensus_accuracy"])
    # A quarter of gossip's two intervals: halfway between 10 and 80 %.
    assert at(quarter, "consensus_accuracy") == pytest.approx({"gossip": 0.45, "ngo": 0.7})
    assert quarter["budget"].nunique() == 1


def test_runs_are_compared_after_the_steps_that_all_took():
    shorter = [{**row, "step": row["step"] * 3 // 4} for row in run(0.7, method="ngo")]
    rows = metrics(run(0.7, method="gossip"), shorter)
    assert shared_steps(rows) == 15
    table = at_equal_steps(rows, ["consensus_accuracy"])
    assert at(table, "consensus_accuracy") == pytest.approx({"gossip": 0.75, "ngo": 0.7})


def runs(scores, *, value="held_out", **fields):
    """Two seeds at each γ; ``scores`` are their numbers."""
    return table(
        *(
            ended(seed=s, gamma=g, p=fields.get("p", 0.9), topology="ring", **{value: x})
            for g, both in scores.items()
            for s, x in enumerate(both)
        )
    )


def test_the_best_mean_held_out_accuracy_decides():
    rows = runs({0.1: (0.5, 0.9), 0.3: (0.8, 0.8), 1.0: (0.9, 0.3)})
    assert at_best(rows, ["gamma"], [])["gamma"].unique() == [0.3]


def test_other_values_are_chosen_by_their_own_mean_logarithm():
    rows = runs({0.1: (1.0, 100.0), 0.3: (8.0, 8.0)}, value="V")
    # Geometric means 10 and 8.
    assert at_best(rows, ["gamma"], [], "V")["gamma"].unique() == [0.3]


def test_the_seeds_of_the_first_look_choose_for_all():
    rows = runs({0.1: (0.5, 0.9), 0.3: (0.6, 0.3)})
    assert at_best(rows, ["gamma"], [])["gamma"].unique() == [0.1]
    for value in ("accuracy", "V"):
        marked = rows.assign(**{FIRST_LOOK: rows["seed"] == 0}, V=1 - rows["holdout_accuracy"])
        found = at_best(marked, ["gamma"], [], value)
        assert found["gamma"].unique() == [0.3]
        assert set(found["seed"]) == {0, 1}


def course(name, losses, *, diverged=False):
    """An evaluation every quarter of an epoch, 60 steps."""
    frame = pd.DataFrame({"consensus_loss": losses, "step": 60 * np.arange(len(losses))})
    frame = frame.assign(run=name, epoch=frame["step"] / 240, diverged=diverged)
    return frame.assign(consensus_accuracy=1 - frame["consensus_loss"])


def test_a_crossing_is_linear_between_evaluations():
    x, y = np.array([0.0, 1, 2, 3]), np.array([0.1, 0.5, 0.4, 0.9])
    assert crossing(x, y, 0.3) == pytest.approx(0.5)
    assert crossing(x, y, 0.5) == 1
    assert crossing(x, y, 0.1) == 0
    assert crossing(x, y, 0.95) == math.inf
    assert crossing(x, np.array([0.1, math.nan, 0.4, 0.9]), 0.4) == 2


def test_a_count_whose_share_is_a_target_in_percent_reaches_it():
    """94 · 0.01 is not 0.94 in floats: counts of samples decide, for all targets 0.1 … 99.9."""
    for count in range(1, 1000):
        x, y = np.array([0.0, 1.0]), np.array([(count - 1) / 1000, count / 1000])
        assert crossing(x, y, count / 10 * 0.01) == pytest.approx(1), count
        assert crossing(x, y - 1 / 1000, count / 10 * 0.01) == math.inf, count


def test_a_loss_falls_to_its_target_and_an_accuracy_rises():
    metrics = pd.concat(
        [
            course("a", [0.9, 0.7, 0.3, 0.6]),
            course("b", [0.9, 0.8, 0.7, 0.6]),
            course("c", [0.9, 0.3, 0.3, math.nan], diverged=True),
        ]
    )
    epochs = time_to(metrics, 0.5, "consensus_loss")
    assert epochs["a"] == pytest.approx(0.375)
    assert epochs[["b", "c"]].tolist() == [math.inf, math.inf]  # too late, diverged
    steps = time_to(metrics, 0.5, "consensus_accuracy", "step")
    assert steps["a"] == pytest.approx(90)
