"""When consensus is reached, and the states by round."""

import math

import pandas as pd
import pytest
from made_up_speed import trajectories as simulated

from ngo.analysis.dynamics import consensus_rounds, delay_limit_in_rounds


def test_consensus_rounds_are_counted_for_each_p_and_delay():
    V = {(1.0, 0): [8.0, 3.0, 1.0], (1.0, 5): [8.0, 9.0, 7.0]}
    rows = [
        {"p": p, "delay": delay, "round": k, "worker": w, "V": value}
        for (p, delay), values in V.items()
        for k, value in enumerate(values)
        for w in range(2)
    ]
    table = consensus_rounds(pd.DataFrame(rows), 0.5).set_index("delay")
    assert table.loc[0, "first_round"] == 1
    assert math.isnan(table.loc[5, "first_round"])
    assert table["V_final"].tolist() == [1.0, 7.0]


def test_the_limit_of_the_delay_is_that_of_the_graph():
    delayed = simulated((1.0,), (0,), rounds=1)
    # A ring's λ_n is (1/3)(2 − 2 cos π) = 4/3 for even n, a complete graph's 1.
    assert delay_limit_in_rounds(delayed) == pytest.approx(math.pi / (2 * 4 / 3) / 0.02)
    complete = delayed.assign(topology="complete")
    assert delay_limit_in_rounds(complete) == pytest.approx(math.pi / 0.04)
    assert delay_limit_in_rounds(delayed.assign(topology="random")) == math.inf
