"""Statements on delays: each quantity with data that meet it and data that do not."""

import pandas as pd
import pytest
from made_up_speed import trajectories

from ngo.common.registry import UserError
from verdicts.quantity_registry import QUANTITIES

GRAPH = {"topology": "ring", "n": 5}


def met(name, rows, kind, **arguments):
    table = pd.DataFrame([{**GRAPH, "kind": kind, **row} for row in rows])
    return QUANTITIES[name].function(table, **arguments)["met"].tolist()


def test_the_limit_must_come_closer_with_shorter_rounds():
    rows = [{"step": step, "tolerated": 1.38, "limit": 1.5} for step in (0.1, 0.05)]
    assert met("theory_delay_limit", rows, "limits") == [True, False]


def test_unit_steps_must_reach_consensus_exactly_where_it_is_allowed():
    rows = [
        {"delay": delay, "limit": limit, "residual": residual}
        for delay, limit, residual in (
            (1, 1.5, 1e-9), (1, 1.5, 0.1), (1, 0.9, 1e-9), (1, 0.9, 0.1)
        )
    ]  # fmt: skip
    assert met("theory_delay_unit_step", rows, "unit_steps") == [True, False, False, True]


def test_sublinear_delays_are_judged_by_zero_or_by_their_floor():
    rows = [
        {"p": 0.75, "residual": 1.9e-3, "floor": 1e-3},
        {"p": 0.75, "residual": 2.1e-3, "floor": 1e-3},
        {"p": 0.75, "residual": 5e-7, "floor": 1e-20},
        {"p": 1.0, "residual": 1e-9, "floor": 1e-20},
    ]
    assert met("theory_delay_residual", rows, "delays") == [False, False, True]
    assert met("theory_delay_residual", rows, "delays", linear=True) == [True]
    assert met("theory_delay_floor", rows, "delays") == [True, False, True]


@pytest.mark.parametrize(
    ("at_limit", "closed", "opened"), [(1.0, [True, False], [True, True]),
                                       (1e-9, [True, True], [True, False])]
)  # fmt: skip
def test_only_one_of_the_two_forms_can_hold(at_limit, closed, opened):
    rows = [
        {"delay": 5, "share": 0.9, "residual": 1e-9},
        {"delay": 5, "share": 1.0, "residual": at_limit},
    ]
    assert met("theory_delay_marginal", rows, "marginal", form="closed") == closed
    assert met("theory_delay_marginal", rows, "marginal", form="open") == opened
    with pytest.raises(UserError, match="^form: 'shut' is not allowed; it must be closed or open"):
        met("theory_delay_marginal", rows, "marginal", form="shut")


def test_linear_trajectories_reach_consensus_up_to_the_limit():
    table = trajectories((1.0,), (0, 20, 90), rounds=1000)  # the limit is 59 rounds
    found = QUANTITIES["consensus_delay"].function(table, share=0.01)
    assert found["met"].tolist() == [True, True, True]
    assert found["measured"].iloc[2] > 1
    stopped = table[table["round"] < 100]  # too early for consensus
    found = QUANTITIES["consensus_delay"].function(stopped, share=0.01)
    assert found["met"].tolist() == [False, False, True]


def test_a_delay_raises_the_floor_of_a_sublinear_coupling():
    table = trajectories((0.75,), (0, 50), rounds=1000)
    found = QUANTITIES["consensus_delay_floor"].function(table, share=1e-6)
    assert found["case"].tolist() == ["p 0.75, delay 50"]
    assert not found["met"].any()
    unharmed = pd.concat([table[table["delay"] == 0].assign(delay=d) for d in (0, 50)])
    assert QUANTITIES["consensus_delay_floor"].function(unharmed, share=1e-6)["met"].all()


def test_the_order_of_one_start_is_that_of_its_first_rounds():
    table = trajectories((0.5, 1.0), (0,), rounds=500)
    found = QUANTITIES["consensus_order"].function(table, share=0.1)
    assert found["met"].tolist() == [True]
    swapped = table.assign(p=1.5 - table["p"])
    assert not QUANTITIES["consensus_order"].function(swapped, share=0.1)["met"].any()
