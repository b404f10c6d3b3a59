"""Figure S1: consensus with and without delay."""

import pytest
from figure_files import drawn
from made_up_speed import trajectories

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


@pytest.fixture(scope="module")
def delayed():
    return trajectories((0.75, 1.0), (0, 20, 50, 70), rounds=300)


def test_fig_s1_shows_v_for_all_delays_and_states_on_either_side_of_the_limit(delayed):
    figure, _ = drawn("figS1", delayed, consensus_share=0.1)
    index, *states = figure.axes[4:]
    assert [axis.get_title() for axis in states] == [
        "$p=1$, $\\tau=0$", "$p=1$, $\\tau=50$", "$p=1$, $\\tau=70$"
    ]  # fmt: skip
    assert [len(axis.lines) for axis in states] == [10, 10, 10]
    curves = [line for line in index.lines if line.get_linestyle() != "None"]
    assert len({line.get_linestyle() for line in curves}) == 4
    labels = [line.get_label() for line in curves]
    assert labels[0] == "$\\tau=0$"
    assert labels[3] == "$\\tau=70=1.2\\,\\tau^*$"
    part = delayed[(delayed["p"] == 1) & (delayed["delay"] == 50)].drop_duplicates("round")
    assert curves[2].get_ydata().tolist() == part["V"].tolist()
