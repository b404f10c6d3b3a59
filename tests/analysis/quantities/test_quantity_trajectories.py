"""Statements on trajectories: each quantity with data that meet it and data that do not."""

import pandas as pd
from made_up_speed import trajectories

from verdicts.quantity_registry import QUANTITIES


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
