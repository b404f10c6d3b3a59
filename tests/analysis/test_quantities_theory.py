"""Statements on consensus: each quantity with data that meet it and data that do not."""

import math

import numpy as np
import pandas as pd
import pytest

from ngo.common.registry import UserError
from verdicts.quantity_registry import QUANTITIES

GRAPH = {"topology": "ring", "n": 5}


def asked(name, rows, kind, **arguments):
    table = pd.DataFrame([{**GRAPH, "kind": kind, **row} for row in rows])
    return QUANTITIES[name].function(table, **arguments)


@pytest.mark.parametrize(
    ("name", "kind", "right", "wrong", "arguments"),
    [
        ("theory_linear_decay", "decays", {"gamma": 0.1, "measured": 0.9, "limit": 0.9},
         {"gamma": 0.1, "measured": 0.9001, "limit": 0.9}, {}),
        ("theory_continuous_mean", "means", {"draw": 0, "measured": 1e-13},
         {"draw": 0, "measured": 1e-9}, {}),
        ("theory_consensus_time", "bounds", {"p": 0.5, "draw": 0, "measured": 1.0, "sharp": 1.0},
         {"p": 0.5, "draw": 0, "measured": 1.001, "sharp": 1.0}, {"form": "sharp"}),
        ("theory_finite_time", "bounds", {"p": 0.5, "draw": 0, "measured": 1.0, "sharp": 1.2},
         {"p": 0.5, "draw": 0, "measured": math.inf, "sharp": 1.2}, {}),
        ("theory_log_linear", "logs", {"draw": 0, "measured": 1e-5},
         {"draw": 0, "measured": 0.06}, {}),
        ("theory_chatter_floor", "floors",
         {"p": 0.5, "gamma": 1, "measured": 0.6, "predicted": 1.0},
         {"p": 0.5, "gamma": 1, "measured": 0.4, "predicted": 1.0}, {}),
    ],
)  # fmt: skip
def test_a_right_bound_is_met_and_a_wrong_one_is_not(name, kind, right, wrong, arguments):
    found = asked(name, [right, wrong], kind, **arguments)
    assert found.columns.tolist() == ["case", "measured", "limit", "met"]
    assert found["met"].tolist() == [True, False]
    assert QUANTITIES[name].cases


def test_finite_time_is_about_the_exponent_of_the_figure():
    rows = [{"p": p, "draw": 0, "measured": 1.0, "sharp": 1.2} for p in (0.5, 0.9)]
    assert len(asked("theory_finite_time", rows, "bounds")) == 1


def orders(*times):
    return [
        {"seed": seed, "p": p, "time": time}
        for seed, each in enumerate(times)
        for p, time in zip((0.5, 1.0, 2.0), each, strict=True)
    ]


def test_each_start_must_keep_the_order():
    found = asked("theory_order", orders((1, 2, 3), (2, 1, 3), (1, 4, 3)), "orders")
    assert found["met"].tolist() == [True, False, False]
    assert found["measured"].tolist() == pytest.approx([2 / 3, 2, 4 / 3])


def test_the_lead_of_a_start_is_a_log_ratio():
    rows = orders((1, 2, 3), (2, 1, 3))
    lead = asked("theory_order_lead", rows, "orders", first=0.5, then=1)
    assert lead.tolist() == pytest.approx([np.log(2), -np.log(2)])
    assert lead.index.tolist() == [0, 1]
    with pytest.raises(UserError, match=r"^then: p = 3 was not measured; .* one of 0.5, 1, 2\.$"):
        asked("theory_order_lead", rows, "orders", first=0.5, then=3)


def test_an_unknown_form_is_refused():
    row = {"p": 0.5, "draw": 0, "measured": 1.0, "sharp": 1.0}
    with pytest.raises(UserError, match="^form: 'shrp' is not allowed; it must be one of paper"):
        asked("theory_consensus_time", [row], "bounds", form="shrp")
