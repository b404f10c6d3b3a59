from dataclasses import replace

import pytest
from small_theory import OPTIONS, small_parts

from ngo.common.registry import UserError
from ngo.measures.theorems.chatter_floors import chatter_floors


def test_a_floor_that_takes_too_many_rounds_is_an_error():
    options = replace(
        OPTIONS, topologies=("ring",), workers=(4,), p=(0.9,), floor_gamma=(1e-9,),
        floor_dimension=1,
    )  # fmt: skip
    with pytest.raises(UserError, match="floor_gamma: 1e-09 takes .* rounds at p = 0.9 on 4"):
        chatter_floors(options)


def test_there_is_a_row_for_each_graph_p_above_a_half_and_gamma(tmp_path):
    floors = small_parts(tmp_path)["floors"]
    assert set(floors["gamma"]) == {0.5, 1.0}
    assert set(floors["p"]) == {0.75}
    assert not floors.duplicated(["topology", "n", "p", "gamma"]).any()
    assert (floors["measured"] > 0).all()
