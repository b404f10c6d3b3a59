"""Figure 1: gossip until V ≤ V_th."""

import pytest
from figure_files import drawn
from made_up import line, panel, thresholds

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig1_shows_the_thresholds_and_the_ring():
    figure, _ = drawn("fig1", thresholds())
    index = panel(figure, "least squares:\nsynchronization")
    across = [a.get_ydata()[0] for a in index.lines if len(set(a.get_ydata())) == 1]
    assert {1.0, 5.0} <= set(across)
    assert panel(figure, "ring, $n = 5$").texts[0].get_text() == "0"
    assert line(panel(figure, "communication"), "sine net") == ([1, 5], [400, 400])
    loss = line(panel(figure, "sine net:\nconsensus model"), r"$V_\mathrm{th} = 5$")
    assert loss == ([10, 20], pytest.approx([1 / 2, 1 / 3]))
