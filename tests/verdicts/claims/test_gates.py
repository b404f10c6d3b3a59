"""Gates: conditions that runs must meet."""

import math

import pandas as pd
import pytest
from cases import cases, refused
from quantities_for_tests import quantities  # noqa: F401

from verdicts.claims import Gate
from verdicts.claims.conditions import check_gate, passing
from verdicts.registry import UserError

pytestmark = pytest.mark.usefixtures("quantities")

ROWS = pd.DataFrame({"run": [*"aab"], "step": [0, 9, 9], "seed": [0, 0, 1]})
ROWS["score"] = [0.1, 0.8, 0.9]


def gate(**changes):
    fields = {
        "name": "trained", "tables": (), "where": {}, "column": "score", "quantity": None,
        "arguments": {}, "take": "min", "above": 0.7, "below": None, "reason": "untrained",
    }  # fmt: skip
    return Gate(**{**fields, **changes})


@cases(
    "changes",
    {"take": "mean", "above": 0.84, "below": 0.86},
    {"column": None, "quantity": "end"},
    {"tables": ("other",), "above": 6},
)
def test_runs_that_pass(changes):
    check_gate(gate(**changes), ROWS, {"other": ROWS.assign(score=7)})


@cases(
    "changes, message",
    ({"above": 0.8}, "^untrained: min score is 0.8, must be above 0.8$"),
    ({"above": 0.1, "below": 0.5}, "must be above 0.1 and below 0.5$"),
    ({"column": "V"}, "^gate trained: there is no column 'V'"),
    ({"where": {"run": "z"}}, "^gate trained: no rows with run z, only a, b$"),
)
def test_runs_that_do_not_pass(changes, message):
    refused(message, check_gate, gate(**changes), ROWS, {})


@cases(
    "changes, passes",
    ({}, {0}),
    ({"take": "max"}, {0, 1}),
    ({"where": {"run": "b"}}, {0, 1}),
    ({"above": None, "below": 0.75}, {1}),
    ({"column": "V"}, set()),
    ({"where": {"V": 1}}, set()),
    ({"column": None, "quantity": "end"}, set()),  # each is asked alone
)
def test_all_universes_are_asked_at_once_as_each_alone(changes, passes):
    lower = ROWS.assign(universe=1, score=ROWS["score"].where(ROWS["run"] == "b", 0.2))
    missing = ROWS.assign(universe=2, score=math.nan)
    rows = pd.concat([ROWS.assign(universe=0), lower, missing], ignore_index=True)
    assert passing(gate(**changes), rows) == passes
    for universe in passes:
        check_gate(gate(**changes), rows[rows["universe"] == universe], {})


@pytest.mark.parametrize("first", [True, False])
def test_a_diverged_run_has_the_worst_value(first):
    rows = ROWS.assign(diverged=[first, not first, False])
    refused("min score is -inf, must be above 0.7", check_gate, gate(), rows, {})
    assert passing(gate(), rows.assign(universe=0)) == set()
    with pytest.raises(UserError, match="max diverged is 1, must be below 0.5"):
        check_gate(gate(column="diverged", take="max", above=None, below=0.5), rows, {})
