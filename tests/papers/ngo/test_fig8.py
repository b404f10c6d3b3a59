"""Figure 8: V against performance, and stability."""

import pytest
from figure_files import drawn
from made_up import SEEDS, rates
from often_evaluated import often

from ngo.analysis.curves import part
from ngo.gossip.bounds import chatter_V
from ngo.gossip.topologies.static import ring
from ngo.gossip.weights import mixing_matrix
from ngo.native.pool import one_intra_op_thread

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_runs_are_compared_at_the_gamma_that_all_topologies_share():
    _, shown = drawn("fig8", rates(), often())
    runs, by_gamma = part(shown, "runs"), part(shown, "by_gamma")
    assert set(runs.loc[runs["at_shared"].astype(bool), "gamma"]) == {0.1}
    assert set(by_gamma["topology"]) == {"ring"}
    assert len(runs) == 2 * 4 * len(SEEDS)
    assert runs["at_shared"].sum() == 2 * 3 * len(SEEDS)
    assert sorted(by_gamma["gamma"].unique()) == [0.1, 0.5]


def test_the_floor_is_that_of_the_largest_two_cycle():
    _, shown = drawn("fig8", rates(), often())
    floor = part(shown, "floor").set_index("gamma")["mean"]
    with one_intra_op_thread():
        predicted = chatter_V(0.5, mixing_matrix(ring(10)), 0.9, 100)
    assert floor.index.tolist() == [0.1, 0.5]
    assert floor[0.5] == pytest.approx(predicted)
