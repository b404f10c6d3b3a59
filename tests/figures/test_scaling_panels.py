"""The best accuracy by the number of workers."""

import pytest
from made_up import line, panel, sizes

from ngo.figures.scaling_panels import draw_scaling

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_the_best_accuracy_and_the_difference_by_seed():
    figure, shown = draw_scaling(sizes())
    best = panel(figure, "best accuracy")
    assert line(best, "gossip") == ([4, 16], pytest.approx([70, 70]))
    assert line(best, "NGO") == ([4, 16], pytest.approx([74, 86]))
    gain = shown[shown["value"] == "difference"]
    assert gain["mean"].tolist() == pytest.approx([4, 16])
    assert panel(figure, "paired by seed").get_ylim()[0] <= 0
