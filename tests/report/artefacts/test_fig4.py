"""Figure 4: nonlinearity."""

import math

import pandas as pd
import pytest
from made_up import SEEDS, exponents, labels, line, metrics, panel, run

from ngo.report.artefacts import fig4

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig4_has_gossip_at_p_1():
    figure, _ = fig4.draw(exponents())
    ends = panel(figure, "accuracy at the end")
    assert line(ends, "gossip") == ([1.0], [pytest.approx(50)])
    assert line(ends, "NGO") == ([0.7, 0.9], [pytest.approx(60)] * 2)
    looks = [(a.get_linestyle(), a.get_marker()) for a in panel(figure, "accuracy by $p$").lines]
    assert len(set(looks)) == 3  # told apart without colour


def test_fig4_draws_each_protocol_and_p():
    """Gossip and NGO at p = 1 too, and centralized learning, which has none."""
    given = (("centralized", math.nan), ("gossip", 1.0), ("ngo", 1.0), ("local_sgd", 0.9))
    runs = (run(0.5, protocol=q, p=p, seed=s) for q, p in given for s in SEEDS)
    figure, shown = fig4.draw(metrics(*runs))
    curves = labels(figure.axes[0])
    assert curves == ["centralized", "gossip, $p = 1$", "NGO, $p = 1$", "local SGD, $p = 0.9$"]
    assert all(len(line(figure.axes[0], label)[0]) == 3 for label in curves)
    assert set(shown["seeds"]) == {3}


def test_the_figure_is_made_from_a_file_in_the_same_bytes_each_time(tmp_path):
    exponents().to_parquet(tmp_path / "metrics.parquet")
    for name in ("a", "b"):
        made = fig4.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path / name)
        assert made.picture == tmp_path / name / "figures/fig4.png"
    for kind in ("csv", "pdf", "png"):
        first, second = (tmp_path / name / f"figures/fig4.{kind}" for name in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()
    shown = pd.read_csv(tmp_path / "a/figures/fig4.csv")
    assert set(shown["tier"]) == {"test"}
