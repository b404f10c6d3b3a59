from dataclasses import replace

import pytest
from small_theory import OPTIONS, asked, holds, small_rows

from ngo.common.registry import UserError
from ngo.theorems.chatter_floor import chatter_floors


def test_a_floor_that_takes_too_many_rounds_is_an_error():
    options = replace(
        OPTIONS, topologies=("ring",), workers=(4,), p=(0.9,), floor_gamma=(1e-9,),
        floor_dimension=1,
    )  # fmt: skip
    with pytest.raises(UserError, match="floor_gamma: 1e-09 takes .* rounds at p = 0.9 on 4"):
        list(chatter_floors(options))


def test_there_is_a_row_for_each_graph_p_above_a_half_and_gamma():
    floors = small_rows("floors")
    assert set(floors["gamma"]) == {0.5, 1.0}
    assert set(floors["p"]) == {0.75}
    assert not floors.duplicated(["topology", "n", "p", "gamma"]).any()
    assert (floors["measured"] > 0).all()


def test_a_floor_beyond_a_factor_of_two_is_seen():
    assert holds("theory_chatter_floor", "floors")
    rows = [
        {"p": 0.5, "gamma": 1, "measured": 0.6, "predicted": 1.0},
        {"p": 0.5, "gamma": 1, "measured": 0.4, "predicted": 1.0},
    ]
    found = asked("theory_chatter_floor", "floors", rows)
    assert found["met"].tolist() == [True, False]
