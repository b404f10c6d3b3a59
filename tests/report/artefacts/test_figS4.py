"""Figure S4: correlation of V and accuracy."""

import pandas as pd
import pytest
from made_up import levels, straight_line

from ngo.report.artefacts import figS4

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_the_title_has_the_correlations():
    figure, shown = figS4.draw(levels())
    assert figure.axes[0].get_title().endswith("within a seed $r$ = −1.00")
    assert len(shown) == 18
    within = [a for a in figure.axes[0].lines if a.get_color() == "0.6"]
    assert len(within) == 3  # a falling line for each seed
    assert all(a.get_ydata()[0] > a.get_ydata()[1] for a in within)


def test_a_straight_line_has_no_interval():
    figure, _ = figS4.draw(straight_line())
    assert "Pearson $r$ = 1.00\nSpearman" in figure.axes[0].get_title()


def test_the_figure_is_made_from_a_file(tmp_path):
    levels().to_parquet(tmp_path / "metrics.parquet")
    made = figS4.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/figS4.png"
    shown = pd.read_csv(tmp_path / "figures/figS4.csv")
    assert set(shown["tier"]) == {"test"}
    assert made.tables[0]["runs"].tolist() == [18]
