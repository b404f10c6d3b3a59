"""Figure 6: consensus every few steps."""

import pandas as pd
import pytest
from made_up import SEEDS, labels, line, metrics, periods, run

from ngo.report.artefacts import fig6

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig6_sets_both_couplings_on_the_same_axes():
    figure, _ = fig6.draw(periods())
    linear, nonlinear, below, beside = figure.axes
    assert linear.get_ylim() == nonlinear.get_ylim()
    assert below.get_ylim() == beside.get_ylim()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "gossip, every step", "NGO, every step",
        "local SGD, every 2 steps", "local SGD, every 5 steps",
    ]  # fmt: skip
    assert line(linear, "gossip, every step")[1] == pytest.approx([10, 70, 60])


def test_fig6_draws_protocols_without_a_period_too():
    given = ({"protocol": "centralized"}, {"protocol": "gossip"}, {"protocol": "delayed", "p": 1.0})
    runs = [run(0.5, **how, seed=s) for how in given for s in SEEDS]
    runs += [run(0.5, protocol="local_sgd", p=1.0, local_steps=h, seed=0) for h in (1, 5)]
    figure, _ = fig6.draw(metrics(*runs))
    assert labels(figure.axes[0]) == [
        "centralized", "gossip, every step", "local SGD, every 1 steps", "local SGD, every 5 steps",
        "delayed, every step",
    ]  # fmt: skip


def test_the_figure_is_made_from_a_file(tmp_path):
    periods().to_parquet(tmp_path / "metrics.parquet")
    made = fig6.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/fig6.png"
    shown = pd.read_csv(tmp_path / "figures/fig6.csv")
    assert set(shown["tier"]) == {"test"}
