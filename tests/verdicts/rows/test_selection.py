"""The rows that a claim is about."""

import math

import pandas as pd
import pytest

from verdicts.registry import UserError
from verdicts.rows.selection import joined, selected

ROWS = pd.DataFrame(
    {
        "run": ["a", "a", "b", "c"],
        "step": [0, 9, 9, 9],
        "dataset": ["mnist", "mnist", "mnist", "digits"],
        "topology": ["ring", "ring", None, "complete"],
        "p": [0.9, 0.9, math.nan, 1.0],
    }
)


@pytest.mark.parametrize(
    ("where", "runs"),
    [
        ({}, "abc"),
        ({"dataset": "mnist"}, "ab"),
        ({"topology": None}, "b"),
        ({"topology": ["ring", None]}, "ab"),
        ({"p": 0.9}, "a"),
        ({"p": "1"}, "c"),
        ({"p": ["9e-1", 2]}, "a"),
        ({"p": {"min": 0.95}}, "c"),
        ({"p": {"min": 0.5, "max": 1}, "dataset": "mnist"}, "a"),
    ],
)
def test_rows_are_selected_by_values_and_ranges(where, runs):
    assert list(selected(ROWS, where)["run"].unique()) == list(runs)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"dataset": "cifar10"}, "^not trained on cifar10, but on digits, mnist$"),
        ({"p": {"max": 0.5}}, r"^no rows with p max 0.5, only 0.9, 1.0$"),
        ({"p": "low"}, "^no rows with p low, only 0.9, 1.0$"),
        ({"topology": "1"}, "^no rows with topology 1, only complete, ring$"),
        ({"dataset": "digits", "p": 0.9}, "^no runs with dataset digits, p 0.9$"),
        ({"topolgy": "ring"}, "^there is no column 'topolgy'. Did you mean 'topology'"),
    ],
)
def test_what_is_missing_is_said(where, message):
    with pytest.raises(UserError, match=message):
        selected(ROWS, where)


def test_a_table_without_training_has_no_rows_of_a_data_set():
    with pytest.raises(UserError, match="^no rows with dataset mnst, only digits, mnist$"):
        selected(ROWS.drop(columns=["run", "step"]), {"dataset": "mnst"})


def test_a_range_is_for_numbers():
    with pytest.raises(UserError, match="^dataset: it has text; min 1 is for numbers.$"):
        selected(ROWS, {"dataset": {"min": 1}})


def test_an_evaluation_that_two_tables_share_occurs_once():
    tables = {"one": ROWS[:3], "two": ROWS[1:].assign(more=1)}
    assert len(joined(tables, ("one", "two"))) == 4
    shared = {"one": ROWS.assign(universe=0), "two": ROWS.assign(universe=1)}
    assert len(joined(shared, ("one", "two"))) == 8  # a run may be in several universes
    measured = {"one": pd.DataFrame({"x": [1]}), "two": pd.DataFrame({"x": [1]})}
    assert len(joined(measured, ("one", "two"))) == 2
    with pytest.raises(UserError, match="there is no table 'on'"):
        joined(tables, ("on",))


def test_a_table_without_diverged_has_no_diverged_runs_beside_one_with_it():
    rows = pd.DataFrame({"run": ["a", "b"], "step": [1, 1], "diverged": [True, False]})
    other = pd.DataFrame({"run": ["c"], "step": [1]})
    found = joined({"t": rows, "u": other}, ("t", "u"))["diverged"]
    assert (found.dtype, list(found)) == (bool, [True, False, False])
