"""Figure A2: steps to two targets."""

import math

import pandas as pd
import pytest
from figure_files import drawn, opened
from made_up import line, panel
from made_up_speed import speeding_up

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

figA2 = opened("figA2").module

TARGETS = {"early": 50, "late": 80}


def test_the_panels_show_steps_and_speed_up():
    figure, _ = drawn("figA2", speeding_up(), 50, 80)
    x, y = line(panel(figure, "steps to a target"), "NGO, early target")
    assert x == [1, 2]
    assert y == pytest.approx([50, 12.5])
    _, y = line(panel(figure, "speed-up, gossip"), "gossip, late target")
    assert y == pytest.approx([1, 2])
    _, y = line(panel(figure, "speed-up, NGO"), "linear")
    assert y == [1, 2]


def test_steps_are_linear_between_evaluations_and_paired_by_seed():
    found = figA2.steps_to_targets(speeding_up(), TARGETS)
    early = found[found["target"] == "early"].set_index(["method", "workers", "seed"])
    # In 10 steps, accuracy rises by 10 points with one worker, with two by 20 or 40.
    assert early.loc[("gossip", 1), "steps"].tolist() == pytest.approx([50, 50, 50])
    assert early.loc[("ngo", 1), "steps"].tolist() == pytest.approx([50, 50, 50])
    assert early.loc[("gossip", 2), "speedup"].tolist() == pytest.approx([2, 2, 2])
    assert early.loc[("ngo", 2), "speedup"].tolist() == pytest.approx([4, 4, 4])
    assert set(found["accuracy"]) == {50, 80}
    assert "centralized" not in set(found["method"])


def test_a_run_that_never_gets_there_is_no_point():
    lost = speeding_up()
    short = (lost["method"] == "ngo") & (lost["seed"] == 2) & (lost["step"] > 10)
    found = figA2.steps_to_targets(lost[~short], TARGETS)
    late = found[(found["target"] == "late") & (found["method"] == "ngo")]
    late = late[late["workers"] == 2].set_index("seed")
    assert late["steps"].tolist() == pytest.approx([20, 20, math.inf])
    assert late["speedup"].tolist() == pytest.approx([4, 4, 0])
    means = figA2.speedup_means(found).set_index(["target", "method", "workers"])
    row = means.loc[("late", "ngo", 2)]
    assert (row["seeds"], row["reached"]) == (3, 2)
    assert math.isnan(row["steps"])
    assert math.isnan(row["speedup"])
    kept = means.loc[("late", "gossip", 2)]
    assert (kept["reached"], kept["speedup"]) == (3, pytest.approx(2))
    assert [kept["speedup_low"], kept["speedup_high"]] == pytest.approx([2, 2])


def test_means_are_geometric_without_an_interval_of_two_seeds():
    table = pd.DataFrame(
        {"target": "early", "accuracy": 50, "method": "ngo", "workers": 2, "seed": [0, 1],
         "steps": [10.0, 40.0], "speedup": [1.0, 4.0]}
    )  # fmt: skip
    row = figA2.speedup_means(table).iloc[0]
    assert (row["steps"], row["speedup"]) == (pytest.approx(20), pytest.approx(2))
    assert math.isnan(row["speedup_low"])
    assert math.isnan(row["steps_high"])
