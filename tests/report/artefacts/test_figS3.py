"""Figure S3: scaling with the number of workers."""

import pandas as pd
import pytest
from made_up import line, panel
from made_up_graphs import graphs_of_sizes

from ngo.report.artefacts import figS3

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_each_size_has_its_curves_and_each_case_its_steps_to_the_target():
    figure, shown = figS3.draw(graphs_of_sizes(), 0.3)
    curves = panel(figure, "$n = 16$")
    assert line(curves, "gossip, ring") == ([0, 10, 20], pytest.approx([10, 50, 40]))
    assert line(curves, "NGO, complete")[1] == pytest.approx([10, 78, 68])
    times = panel(figure, "steps to a test accuracy of 30 %")
    assert line(times, "gossip, ring") == ([4, 16], pytest.approx([5, 5]))
    gain = panel(figure, "paired by seed")
    assert line(gain, "NGO, ring") == ([4, 16], pytest.approx([2, 8]))
    assert set(shown["steps"]) == {20}


def test_the_figure_is_made_from_a_file(tmp_path):
    graphs_of_sizes().to_parquet(tmp_path / "metrics.parquet")
    made = figS3.make(tmp_path / "metrics.parquet", 0.3, tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/figS3.png"
    shown = pd.read_csv(tmp_path / "figures/figS3.csv")
    assert set(shown["tier"]) == {"test"}
    assert set(shown["target"]) == {0.3}
