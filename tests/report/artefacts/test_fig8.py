"""Figure 8: V against performance, and stability."""

import pandas as pd
import pytest
from made_up import SEEDS, panel, rates
from often_evaluated import often

from ngo.report.artefacts import fig8

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig8_takes_the_gamma_that_all_topologies_share():
    figure, shown = fig8.draw(rates(), often())
    runs = figure.axes[0]
    assert runs.get_title().startswith(r"(a) all runs; large: $\gamma = 0.1$")
    large, pale = ([a for a in runs.lines if a.get_markersize() == size] for size in (5, 3))
    assert sum(len(a.get_xdata()) for a in large) == 2 * 3 * len(SEEDS)
    assert sum(len(a.get_xdata()) for a in pale) == 2 * len(SEEDS)  # the ring at γ = 0.5
    assert len({(a.get_marker(), a.get_fillstyle()) for a in large}) == 6
    assert "loss" in runs.get_ylabel()
    floor = shown[shown["value"] == "predicted floor of V"].set_index("gamma")["mean"]
    assert floor.index.tolist() == [0.1, 0.5]


def test_the_curves_have_a_panel_for_each_gamma_with_every_run():
    figure, _ = fig8.draw(rates(), often())
    curves = panel(figure, r"ring, $\gamma = 0.5$")
    thin = [a for a in curves.lines if a.get_linewidth() < 0.5]
    assert len(thin) == 2 * len(SEEDS)
    assert all(0 <= y <= 100 for a in curves.lines for y in a.get_ydata())
    assert panel(figure, r"ring, $\gamma = 0.1$").get_ylim() == curves.get_ylim()


def test_the_figure_is_made_from_a_file(tmp_path):
    rates().to_parquet(tmp_path / "metrics.parquet")
    often().to_parquet(tmp_path / "course.parquet")
    made = fig8.make(
        tmp_path / "metrics.parquet", tmp_path / "course.parquet", tier="test", out=tmp_path
    )
    assert made.picture == tmp_path / "figures/fig8.png"
    shown = pd.read_csv(tmp_path / "figures/fig8.csv")
    assert set(shown["tier"]) == {"test"}
