"""The rows that a claim is about, and the values of runs and of seeds."""

import math

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused
from measured_runs import ended, pairs, table

from verdicts.registry import UserError
from verdicts.run_values import final, per_run, worst_of
from verdicts.scores import FIRST_LOOK, at_best, combined, sides, total
from verdicts.table import joined, matches, selected

CURVES = pd.DataFrame({"run": [*"aaabbb"], "seed": [0, 0, 0, 1, 1, 1]})
CURVES = CURVES.assign(step=[20, 0, 10, 0, 10, 20], score=[3.0, 1.0, 8.0, 2.0, 2.0, 5.0])
INF = math.inf
LOSSES = pd.DataFrame({"run": [*"aab"], "step": [9, 0, 3], "V": [4, 5, 6]})
LOSSES["test_loss"] = [1.0, 2.0, 3.0]


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


@cases(
    "value, message",
    ({"mean": "score", "from": 0.5, "to": 0.5}, "from 0.5 to 0.5 is not allowed"),
    ({"mean": "score", "from": "early"}, "from 'early' to 1.0 is not allowed"),
    ({"mean": "score", "to": 2}, "from 0.0 to 2 is not allowed"),
    ({"score": 1, "from": 0.5}, "'score' has no phase; 'from' and 'to' go with max, min, mean"),
    ({"from": 0.5}, "is not allowed; give one name"),
)
def test_a_phase_that_cannot_be(value, message):
    refused(f"^value: .*{message}[^\n]*$", per_run, CURVES, value)


@pytest.mark.parametrize(("column", "worst"), [("score", -math.inf), ("val_loss", math.inf)])
def test_a_diverged_run_has_the_worst_value_of_its_column(column, worst):
    table = CURVES.rename(columns={"score": column}).assign(diverged=CURVES["run"] == "b")
    assert per_run(table, {"mean": column})["value"].tolist() == [5.5, worst]
    assert per_run(table, column)["value"].tolist() == [3, worst]
    ends = table[table["step"] == 20].drop(columns=["run", "step"])  # each row is a run
    assert per_run(ends, column)["value"].tolist() == [3, worst]


@cases(
    "column, worst",
    ("accuracy_without_loss", None), ("lossless", None), ("terror", None), ("time", None),
    ("test_loss", math.inf), ("val-loss", math.inf), ("errors@1", None),
    ("Accuracy", -math.inf), ("mean_reward2", None), ("workers_accuracy_mean", -math.inf),
    ("rounds_to_accuracy", None), ("fid_score", None), ("neg_log_loss", None),
    ("Test accuracy (%)", -math.inf), ("error_%", math.inf), ("% of time", None),
)  # fmt: skip
def test_the_worst_is_known_by_whole_names(column, worst):
    assert worst_of(column) == worst


@cases(
    "column, value, worst",
    ("accuracy", INF, "-inf"), ("test_loss", -INF, "inf"), ("val_acc", -1.0, "-inf"),
    ("f1", 100.5, "-inf"),
)  # fmt: skip
def test_what_cannot_be_counts_neither_for_nor_against_a_side(column, value, worst):
    rows = pd.DataFrame({"seed": [0, 1], column: [0.5, value]})
    told = f"^{column}: {value:g} cannot be; .* it is {worst}, or .*'diverged'"
    refused(told, per_run, rows, column)
    lost = rows.assign(diverged=[False, True])
    assert per_run(lost, column)["value"].tolist() == [0.5, float(worst)]
    for other in ("reward", "accuracy_gain", "workers_accuracy_mean"):  # of any score
        assert per_run(pd.DataFrame({"seed": [0], other: -2.0}), other)["value"].item() == -2


def test_two_runs_or_rows_of_a_seed_are_refused_and_told_apart():
    rows = pairs([0.5], [0.1])
    said = "^runs gossip-s0 and ngo-s0 have the same seed and differ in .*method"
    refused(said, sides, pairs([0.5, 0.6], [0.1, 0.2]), [{}], "accuracy")
    with pytest.raises(UserError, match="over: there is no column 'methd'. Did you mean"):
        sides(rows, [{}], "accuracy", ["methd"])
    rows = pd.DataFrame({"dataset": list("baab"), "seed": [0, 1, 2, 1], "score": 1.0})
    refused("^rows 2 and 4 have the same seed and differ in dataset", sides, rows, [{}], "score")
    with pytest.raises(UserError, match=r"^rows 2 and 4 are the same \(seed 1\)"):
        sides(rows.assign(dataset="a"), [{}], "score")


def test_centralized_training_counts_for_every_topology():
    rows = pd.DataFrame(
        [("a", "ring", 0, 5), ("a", "ring", 1, 6), ("a", "complete", 0, 8), ("a", "complete", 1, 9),
         ("all", None, 0, 10), ("all", None, 1, 20)],
        columns=["method", "topology", "seed", "score"],
    )  # fmt: skip
    one, shared = sides(rows, [{"method": "a"}, {"method": "all"}], "score", ["topology"])
    found = combined([shared, one], number=lambda table: table).numbers
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


@pytest.mark.parametrize("diverged", [[True, False, False], [False, True, False]])
def test_a_run_that_diverged_in_any_row_has_no_loss_and_keeps_its_V(diverged):
    last = final(LOSSES.assign(diverged=diverged))
    assert last["diverged"].tolist() == [True, False]
    assert last["test_loss"].tolist() == pytest.approx([math.nan, 3], nan_ok=True)
    assert last["V"].tolist() == [4, 6]


def runs(scores, value="held_out"):
    """Two seeds at each γ; ``scores`` are their numbers."""
    both = [(seed, g, x) for g, own in scores.items() for seed, x in enumerate(own)]
    return table(*(ended(seed=s, gamma=g, topology="ring", **{value: x}) for s, g, x in both))


def test_the_best_mean_or_mean_logarithm_decides():
    rows = runs({0.1: (0.5, 0.9), 0.3: (0.8, 0.8), 1.0: (0.9, 0.3)})
    assert at_best(rows, ["gamma"], [])["gamma"].unique() == [0.3]
    rows = runs({0.1: (1.0, 100.0), 0.3: (8.0, 8.0)}, value="V")
    # Geometric means 10 and 8.
    assert at_best(rows, ["gamma"], [], "V")["gamma"].unique() == [0.3]
    rows = runs({0.1: (0.5, 0.9), 0.3: (0.6, 0.3)})
    assert at_best(rows, ["gamma"], [])["gamma"].unique() == [0.1]
    for value in ("accuracy", "V"):
        marked = rows.assign(**{FIRST_LOOK: rows["seed"] == 0}, V=1 - rows["holdout_accuracy"])
        found = at_best(marked, ["gamma"], [], value)
        assert found["gamma"].unique() == [0.3]
        assert set(found["seed"]) == {0, 1}


ROWS = pd.DataFrame({"run": [*"aabc"], "step": [0, 9, 9, 9], "p": [0.9, 0.9, math.nan, 1.0]})
ROWS["dataset"] = ["mnist", "mnist", "mnist", "digits"]
ROWS["topology"] = ["ring", "ring", None, "complete"]


@cases(
    "where, runs",
    ({}, "abc"),
    ({"dataset": "mnist"}, "ab"),
    ({"topology": None}, "b"),
    ({"topology": ["ring", None]}, "ab"),
    ({"p": 0.9}, "a"),
    ({"p": "1"}, "c"),
    ({"p": ["9e-1", 2]}, "a"),
    ({"p": {"min": 0.95}}, "c"),
    ({"p": {"min": 0.5, "max": 1}, "dataset": "mnist"}, "a"),
)
def test_rows_are_selected_by_values_and_ranges(where, runs):
    assert list(selected(ROWS, where)["run"].unique()) == list(runs)


@cases(
    "where, message",
    ({"dataset": "cifar10"}, "^not trained on cifar10, but on digits, mnist$"),
    ({"p": {"max": 0.5}}, r"^no rows with p max 0.5, only 0.9, 1.0$"),
    ({"p": "low"}, "^no rows with p low, only 0.9, 1.0$"),
    ({"topology": "1"}, "^no rows with topology 1, only complete, ring$"),
    ({"dataset": "digits", "p": 0.9}, "^no runs with dataset digits, p 0.9$"),
    ({"topolgy": "ring"}, "^there is no column 'topolgy'. Did you mean 'topology'"),
)
def test_what_is_missing_is_said(where, message):
    refused(message, selected, ROWS, where)


def test_what_two_tables_share_occurs_once_and_runs_of_one_name_are_kept():
    tables = {"one": ROWS[:3], "two": ROWS[1:].assign(more=1)}
    assert len(joined(tables, ("one", "two"))) == 4
    shared = {"one": ROWS.assign(universe=0), "two": ROWS.assign(universe=1)}
    assert len(joined(shared, ("one", "two"))) == 8  # a run may be in several universes
    apart = {"one": ROWS, "two": pd.concat([ROWS.assign(universe=k) for k in (0, 1)])}
    assert len(joined(apart, ("one", "two"))) == 12
    measured = {"one": pd.DataFrame({"x": [1]}), "two": pd.DataFrame({"x": [1]})}
    assert len(joined(measured, ("one", "two"))) == 2
    refused("there is no table 'on'", joined, tables, ("on",))
    digits = ROWS[["run", "step", "topology"]].assign(dataset="digits", score=1.0)
    rows = joined({"t": digits, "u": digits.assign(dataset="letters", score=2.0)}, ("t", "u"))
    assert selected(rows, {"dataset": "letters"})["score"].tolist() == [2, 2, 2, 2]
    assert len(joined({"t": digits, "u": digits.assign(topology=None)}, ("t", "u"))) == 7
    assert len(joined({"t": digits, "u": digits.iloc[::-1]}, ("t", "u"))) == 4


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("wanted", [0.3, [0.5, 0.3], "3e-1", {"min": 0.3, "max": 0.3}])
def test_numbers_are_compared_in_the_precision_of_the_column(kind, wanted):
    assert matches(pd.Series([0.3, 0.7], dtype=kind), wanted).tolist() == [True, False]


@cases(
    "values, wanted, met",
    ([10.0, 1.0], "1_0", [False, False]),
    ([1.0, math.nan], "nan", [False, False]),
    ([1.0, 0.0], [True, 0], [False, True]),
    ([True, False], 1, [False, False]),
    ([True, None, 1, "a"], [True, None], [True, True, False, False]),
    ([2**53, 2**53 + 1], str(2**53 + 1), [False, True]),
    ([2.0**53, 1.0], 2**53 + 1, [False, False]),
    ([1, 2], [1e300, 2.0, 10**400], [False, True]),
)
def test_values_do_not_match_by_accident(values, wanted, met):
    assert matches(pd.Series(values), wanted).tolist() == met
