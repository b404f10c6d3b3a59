"""Figure 3: sublinear, linear and superlinear coupling."""

import pytest
from figure_files import drawn
from made_up_speed import trajectories as simulated

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


@pytest.fixture(scope="module")
def trajectories():
    return simulated((0.5, 1.0, 2.0))


def test_fig3_shows_each_worker_and_v(trajectories):
    figure, _ = drawn("fig3", trajectories, consensus_share=0.5)
    *states, index = figure.axes
    assert [axis.get_title() for axis in states] == [
        "sublinear, $p=0.5$", "linear, $p=1$", "superlinear, $p=2$"
    ]  # fmt: skip
    assert [len(axis.lines) for axis in states] == [10, 10, 10]
    V = trajectories[trajectories["p"] == 1].drop_duplicates("round")["V"]
    shown = next(line for line in index.lines if line.get_label() == "$p=1$")
    assert shown.get_ydata().tolist() == V.tolist()
    styles = {line.get_linestyle() for line in index.lines if line.get_linestyle() != "None"}
    assert len(styles) == 3  # told apart without colour
    assert index.get_yscale() == "log"
    assert all(axis.get_xlabel() == "round" for axis in figure.axes)
