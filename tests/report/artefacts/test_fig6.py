"""Figure 6: consensus every few steps."""

import pandas as pd
import pytest
from made_up import SEEDS, labels, line, metrics, panel, periods, run

from ngo.report.artefacts import fig6

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig6_has_all_couplings_in_one_panel_for_each_half():
    figure, _ = fig6.draw(periods())
    noniid = panel(figure, "accuracy, non-iid (shards)")
    assert labels(noniid) == [
        "gossip, $H = 1$", "gossip, $H = 2$", "gossip, $H = 5$",
        "NGO, $H = 1$", "NGO, $H = 2$", "NGO, $H = 5$",
        "averaging, $H = 2$", "averaging, $H = 5$",
    ]  # fmt: skip
    assert line(noniid, "gossip, $H = 1$")[1] == pytest.approx([10, 70, 60])
    assert labels(panel(figure, "accuracy, iid")) == labels(noniid)
    assert not any("averaging" in name for name in labels(panel(figure, "(b) synchronization")))


def test_fig6_shows_the_end_beside_equal_bytes():
    figure, shown = fig6.draw(periods())
    lines = panel(figure, "(c) accuracy by $H$").containers
    end, equal = lines[0].lines[0], lines[3].lines[0]  # gossip's
    assert (end.get_linestyle(), equal.get_linestyle()) == ("-", ":")
    assert list(end.get_ydata()) == pytest.approx([60, 40, 40])
    # After two fifths of an interval, after two intervals at a half, and at the end.
    assert list(equal.get_ydata()) == pytest.approx([34, 42, 40])
    assert set(shown["at"]) == {"epoch", "end", "equal bytes"}


def test_fig6_draws_methods_without_a_period_too():
    given = ({"method": "centralized"}, {"method": "gossip"}, {"method": "delayed", "p": 1.0})
    runs = [run(0.5, **how, seed=s) for how in given for s in SEEDS]
    runs += [run(0.5, method="local_sgd", p=1.0, local_steps=5, seed=s) for s in SEEDS]
    figure, _ = fig6.draw(metrics(*runs))
    assert labels(figure.axes[0]) == [
        "centralized", "gossip, $H = 1$", "gossip, $H = 5$", "delayed, $H = 1$",
    ]  # fmt: skip


def test_the_figure_is_made_from_a_file(tmp_path):
    periods().to_parquet(tmp_path / "metrics.parquet")
    made = fig6.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/fig6.png"
    shown = pd.read_csv(tmp_path / "figures/fig6.csv")
    assert set(shown["tier"]) == {"test"}
