"""Figure 7: scaling with the number of workers."""

import pytest
from figure_files import drawn, opened
from made_up import line, metrics, panel, run, sizes

from ngo.analysis.curves import scores

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_the_panels_show_the_best_accuracy_and_the_difference():
    figure, shown = drawn("fig7", sizes())
    best = panel(figure, "best accuracy")
    assert line(best, "gossip") == ([4, 16], pytest.approx([70, 70]))
    assert line(best, "NGO") == ([4, 16], pytest.approx([74, 86]))
    gain = shown[shown["value"] == "difference"]
    assert gain["mean"].tolist() == pytest.approx([4, 16])
    # The seeds differ by 10 points, the methods always by the same: the interval is empty.
    assert (gain["high"] - gain["low"]).tolist() == pytest.approx([0, 0], abs=1e-9)
    assert panel(figure, "paired by seed").get_ylim()[0] <= 0


def test_evaluations_on_a_part_of_the_test_set_are_never_the_best():
    with_best = opened("fig7").module.with_best
    rows = scores(metrics(run(0.5, seed=0)))  # 10, 60, 50 %
    assert with_best(rows)["best"].tolist() == pytest.approx([60])
    assert with_best(rows.assign(eval_images=0))["best"].tolist() == pytest.approx([60])
    assert with_best(rows.assign(eval_images=500))["best"].tolist() == pytest.approx([50])
