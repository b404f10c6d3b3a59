"""Figure 5: random graphs."""

import pandas as pd
import pytest
from made_up import line, panel, random_graphs

from ngo.report.artefacts import fig5

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig5_shows_the_edge_probability_nearest_to_the_papers_and_the_budget():
    figure, shown = fig5.draw(random_graphs())
    assert panel(figure, "accuracy, $u = 0.5$")
    ends = panel(figure, "(b) at the end")
    assert [label.get_text() for label in ends.get_xticklabels()] == ["0.2\n(20)", "0.5\n(20)"]
    assert line(ends, "centralized")[1] == [pytest.approx(70)] * 2
    assert shown[shown["method"] == "centralized"]["value"].nunique() == 4
    assert set(shown["at"]) == {"epoch", "end", "equal bytes"}


def test_the_ring_stands_at_its_share_of_all_edges():
    figure, _ = fig5.draw(random_graphs())
    ends = panel(figure, "(b) at the end")
    assert line(ends, "gossip, ring") == ([pytest.approx(20 / 90)], [pytest.approx(40)])
    assert line(ends, "gossip")[0] == [0.2, 0.5]


def test_at_equal_bytes_a_run_that_sends_more_is_shown_earlier():
    runs = random_graphs()
    dense = runs["u"] == 0.5
    runs.loc[dense, "bytes_sent"] *= 2
    figure, _ = fig5.draw(runs)
    assert line(panel(figure, "(c) at equal bytes"), "gossip")[1] == pytest.approx([50, 60])


def test_the_figure_is_made_from_a_file(tmp_path):
    random_graphs().to_parquet(tmp_path / "metrics.parquet")
    made = fig5.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/fig5.png"
    shown = pd.read_csv(tmp_path / "figures/fig5.csv")
    assert set(shown["tier"]) == {"test"}
