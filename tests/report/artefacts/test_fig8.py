"""Figure 8: V against performance, and stability."""

import pandas as pd
import pytest
from made_up import SEEDS, panel, rates

from ngo.report.artefacts import fig8

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig8_takes_the_gamma_that_all_topologies_share():
    figure, shown = fig8.draw(rates())
    runs = panel(figure, r"every run at $\gamma = 0.1$")
    assert sum(len(a.get_xdata()) for a in runs.lines) == 2 * 3 * len(SEEDS)
    assert len({(a.get_marker(), a.get_fillstyle()) for a in runs.lines}) == 6
    floor = shown[shown["value"] == "predicted floor of V"].set_index("gamma")["mean"]
    assert floor.index.tolist() == [0.1, 0.5]


def test_the_figure_is_made_from_a_file(tmp_path):
    rates().to_parquet(tmp_path / "metrics.parquet")
    made = fig8.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/fig8.png"
    shown = pd.read_csv(tmp_path / "figures/fig8.csv")
    assert set(shown["tier"]) == {"test"}
