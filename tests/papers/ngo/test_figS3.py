"""Figure S3: scaling with the number of workers."""

import math

import pytest
from figure_files import drawn, opened
from made_up import line, panel
from made_up_graphs import graphs_of_sizes

from ngo.analysis.curves import part

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

PARTS = ("course", "ends", "times", "gain")


def test_each_size_has_its_curves_and_each_case_its_steps_to_the_target():
    figure, shown = drawn("figS3", graphs_of_sizes(), 0.3)
    curves = panel(figure, "$n = 16$")
    assert line(curves, "gossip, ring") == ([0, 10, 20], pytest.approx([10, 50, 40]))
    assert line(curves, "NGO, complete")[1] == pytest.approx([10, 78, 68])
    times = panel(figure, "steps to a test accuracy of 30 %")
    assert line(times, "gossip, ring") == ([4, 16], pytest.approx([5, 5]))
    gain = panel(figure, "paired by seed")
    assert line(gain, "NGO, ring") == ([4, 16], pytest.approx([2, 8]))
    assert set(shown["steps"]) == {20}


def test_runs_of_several_sizes_at_equal_steps():
    numbers = opened("figS3").module.numbers
    rows = graphs_of_sizes()
    small = rows["workers"] == 4
    rows.loc[small, "step"] *= 2  # twice as many steps
    shown = numbers(rows, 0.3)
    course, ends, times, gain = (part(shown, name) for name in PARTS)
    assert set(shown["steps"]) == {20}
    assert course["step"].max() == 20
    key = ["method", "topology", "workers"]
    ends = ends[ends["value"] == "accuracy"].set_index(key)["mean"]
    assert ends["gossip", "ring", 4] == pytest.approx(50)  # its second evaluation
    assert ends["gossip", "ring", 16] == pytest.approx(40)
    gain = gain.set_index(["topology", "workers"])["mean"]
    assert gain["complete", 16] == pytest.approx(8)
    times = times.set_index(key)["mean"]
    assert times["gossip", "ring", 4] == pytest.approx(10)  # of 20: from 10 to 50 %
    assert times["gossip", "ring", 16] == pytest.approx(5)


def test_a_mean_of_times_is_that_of_all_runs_or_none():
    numbers = opened("figS3").module.numbers
    rows = graphs_of_sizes(lambda seed: seed == 2)
    late = rows[(rows["seed"] == 1) & (rows["topology"] == "ring")].index
    rows.loc[late, "consensus_accuracy"] = 0.1
    times = part(numbers(rows, 0.3), "times").set_index(["topology", "method", "workers"])
    ring, other = times.loc["ring", "ngo", 4], times.loc["random", "ngo", 4]
    assert (ring["late"], ring["diverged"]) == (1, 1)
    assert math.isnan(ring["mean"])
    assert (other["late"], other["diverged"]) == (0, 1)
    assert other["mean"] > 0
