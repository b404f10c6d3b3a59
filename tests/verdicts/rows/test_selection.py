"""The rows that a claim is about."""

import math

import pandas as pd
import pytest
from cases import cases

from verdicts.registry import UserError
from verdicts.table import joined, matches, selected

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
    with pytest.raises(UserError, match=message):
        selected(ROWS, where)


def test_what_two_tables_share_occurs_once_and_runs_of_one_name_are_kept():
    tables = {"one": ROWS[:3], "two": ROWS[1:].assign(more=1)}
    assert len(joined(tables, ("one", "two"))) == 4
    shared = {"one": ROWS.assign(universe=0), "two": ROWS.assign(universe=1)}
    assert len(joined(shared, ("one", "two"))) == 8  # a run may be in several universes
    apart = {"one": ROWS, "two": pd.concat([ROWS.assign(universe=k) for k in (0, 1)])}
    assert len(joined(apart, ("one", "two"))) == 12
    measured = {"one": pd.DataFrame({"x": [1]}), "two": pd.DataFrame({"x": [1]})}
    assert len(joined(measured, ("one", "two"))) == 2
    with pytest.raises(UserError, match="there is no table 'on'"):
        joined(tables, ("on",))
    digits = ROWS[["run", "step", "topology"]].assign(dataset="digits", score=1.0)
    letters = digits.assign(dataset="letters", score=2.0)
    rows = joined({"t": digits, "u": letters}, ("t", "u"))
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
