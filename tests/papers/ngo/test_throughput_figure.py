"""Throughput of the engine and its speed-up."""

import pytest
from figure_files import drawn, opened
from made_up_speed import throughputs

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_the_panels_show_medians_and_their_speed_up():
    figure, _ = drawn("throughput", throughputs())
    left, right = figure.axes
    assert left.containers[1].lines[0].get_ydata().tolist() == [10, 20, 40]
    for container in right.containers:
        assert container.lines[0].get_ydata().tolist() == [1, 2, 4]
    assert [label.get_text() for label in right.get_xticklabels()] == ["1", "2", "4"]
    assert right.get_title() == "speed-up over one worker"


def test_medians_and_range_are_over_the_repeats():
    found = opened("throughput").module.speedups(throughputs()).set_index(["method", "workers"])
    assert found.loc[("gossip", 4), ["median", "low", "high"]].tolist() == [80, 40, 120]
    assert found.loc["ngo", "base"].tolist() == [10, 10, 10]
    assert found.loc["gossip", "base"].tolist() == [20, 20, 20]
