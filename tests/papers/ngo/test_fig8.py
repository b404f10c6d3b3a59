"""Figure 8: V against performance, and stability."""

import pandas as pd
import pytest
from figure_files import drawn, made, opened
from made_up import SEEDS, metrics, panel, rates, run
from often_evaluated import often

from ngo.analysis.curves import part
from ngo.gossip.bounds import chatter_V
from ngo.gossip.topologies.static import ring
from ngo.gossip.weights import mixing_matrix
from ngo.native.pool import one_intra_op_thread

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig8_takes_the_gamma_that_all_topologies_share():
    figure, shown = drawn("fig8", rates(), often())
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
    figure, _ = drawn("fig8", rates(), often())
    curves = panel(figure, r"ring, $\gamma = 0.5$")
    thin = [a for a in curves.lines if a.get_linewidth() < 0.5]
    assert len(thin) == 2 * len(SEEDS)
    assert all(0 <= y <= 100 for a in curves.lines for y in a.get_ydata())
    assert panel(figure, r"ring, $\gamma = 0.1$").get_ylim() == curves.get_ylim()


def test_an_exponent_on_one_topology_alone_is_not_at_the_shared_values():
    more = [run(0.3, 5.0, seed=s, method="ngo", p=0.8, gamma=0.1) for s in SEEDS]
    figure, shown = drawn("fig8", pd.concat([rates(), metrics(*more)], ignore_index=True), often())
    runs = part(shown, "runs")
    assert not runs.loc[runs["p"] == 0.8, "at_shared"].astype(bool).any()
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"gossip, $p = 1$", "NGO, $p = 0.9$", "NGO, $p = 0.8$"} <= labels


def test_the_figure_is_made_from_a_file(tmp_path):
    output = made("fig8", tmp_path, metrics=rates(), course=often())
    assert output.picture == tmp_path / "figures/fig8.png"
    shown = pd.read_csv(tmp_path / "figures/fig8.csv")
    assert set(shown["tier"]) == {"test"}


def test_runs_are_compared_at_the_gamma_that_all_topologies_share():
    _, shown = drawn("fig8", rates(), often())
    runs, by_gamma = part(shown, "runs"), part(shown, "by_gamma")
    assert set(runs.loc[runs["at_shared"].astype(bool), "gamma"]) == {0.1}
    assert set(by_gamma["topology"]) == {"ring"}
    assert len(runs) == 2 * 4 * len(SEEDS)
    assert runs["at_shared"].sum() == 2 * 3 * len(SEEDS)
    assert sorted(by_gamma["gamma"].unique()) == [0.1, 0.5]


def test_the_floor_is_that_of_the_largest_two_cycle():
    _, shown = drawn("fig8", rates(), often())
    floor = part(shown, "floor").set_index("gamma")["mean"]
    with one_intra_op_thread():
        predicted = chatter_V(0.5, mixing_matrix(ring(10)), 0.9, 100)
    assert floor.index.tolist() == [0.1, 0.5]
    assert floor[0.5] == pytest.approx(predicted)


def test_the_caption_is_about_the_runs_of_both_tables():
    figure = opened("fig8")
    runs = {"metrics": rates().query("seed == 0"), "course": often().query("seed == 1")}
    words = " ".join(figure.module.note(figure.module.numbers(**runs), **runs))
    assert "Means over seeds; no intervals below 3 seeds" in words
