"""Panels of consensus without learning."""

import math

import pytest
from made_up_speed import trajectories

from ngo.analysis.dynamics import state_rows
from ngo.figures import plots
from ngo.figures.consensus_panels import draw_index, draw_states, kind

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


@pytest.fixture
def axis():
    return plots.new_figure(2).subplots()


def test_each_worker_has_a_line(axis):
    draw_states(axis, state_rows(trajectories((1.0,), rounds=5)), "red")
    assert len(axis.lines) == 10
    assert axis.get_xlabel() == "round"


@pytest.mark.parametrize(("mark", "marked"), [(3, [3]), (math.nan, [])])
def test_consensus_is_marked_if_it_is_reached(axis, mark, marked):
    draw_index(axis, state_rows(trajectories((1.0,), rounds=5)), mark, "V", "red", "-")
    V, dot = axis.lines
    assert len(V.get_xdata()) == 6
    assert dot.get_xdata().tolist() == marked
    assert axis.get_yscale() == "log"


def test_couplings_are_named_by_p():
    assert [kind(p) for p in (0.5, 1, 2)] == ["sublinear", "linear", "superlinear"]
