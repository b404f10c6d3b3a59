"""Statements on networks: each quantity with data that meet it and data that do not."""

import numpy as np
import pandas as pd
import pytest

from ngo.common.registry import UserError
from verdicts.quantity_registry import QUANTITIES

GRAPH = {"topology": "ring", "n": 5}


def asked(name, rows, kind, **arguments):
    table = pd.DataFrame([{**GRAPH, "kind": kind, **row} for row in rows])
    return QUANTITIES[name].function(table, **arguments)


def test_only_gammas_below_the_limit_are_claimed():
    rows = [
        {"weights": "unit", "share": share, "residual": residual}
        for share, residual in ((0.5, 1e-9), (0.9, 1e-3), (1.5, 1e9))
    ]
    assert asked("theory_degree_limit", rows, "degrees")["met"].tolist() == [True, False]


def test_each_form_of_the_random_system_has_its_own_cases():
    rows = [
        {"form": form, "p": 1, "seed": 0, "residual": residual}
        for form, residual in (("printed", 10.0), ("amended", 1e-9))
    ]
    assert asked("theory_random_system", rows, "random", form="printed")["met"].tolist() == [False]
    assert asked("theory_random_system", rows, "random", form="amended")["met"].tolist() == [True]
    with pytest.raises(UserError, match="^form: 'x' is not allowed; .* one of amended, printed"):
        asked("theory_random_system", rows, "random", form="x")


def test_a_slower_signal_breaks_the_speed():
    rows = [
        {"signal": "slowest", "seed": 0, "rate": 0.1, "limit": 0.1},
        {"signal": "random", "seed": 0, "rate": 0.2, "limit": 0.1},
        {"signal": "random", "seed": 1, "rate": 0.09, "limit": 0.1},
    ]
    assert asked("theory_switching", rows, "switches")["met"].tolist() == [True, True, False]
    lead = asked("theory_switching_lead", rows, "switches")
    assert lead.to_dict() == pytest.approx({0: np.log(2), 1: np.log(0.9)})


def test_linear_consensus_must_vanish_and_sublinear_may_chatter():
    rows = [
        {"p": p, "residual": residual, "without": without}
        for p, residual, without in (
            (1.0, 1e-9, 1e-20), (1.0, 1e-4, 1e-4), (0.9, 1e-4, 1e-4), (0.9, 1e-3, 1e-4)
        )
    ]  # fmt: skip
    found = asked("theory_link_failures", rows, "failures")
    assert found["met"].tolist() == [True, False, True, False]
