"""The figures of learning and synchronization, on metrics with known numbers."""

import math
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from ngo import learning_plots, plots, synchronization_plots
from ngo.artefacts import ARTEFACTS
from ngo.graphs import mixing_matrix, ring
from ngo.pool import one_intra_op_thread
from ngo.registry import UserError
from ngo.theory import chatter_V

FACTS = {
    "dataset": "digits", "partition": "shards", "workers": 10, "topology": "ring", "u": math.nan,
    "protocol": "ngo", "p": 0.9, "gamma": 0.1, "local_steps": 1, "v_threshold": math.nan,
    "train_samples": 1437, "classes_covered": 10.0, "parameters": 100,
}  # fmt: skip
FIXED = {
    "centralized": {"topology": None, "p": math.nan, "gamma": math.nan},
    "gossip": {"p": 1.0},
}


def run(accuracy, V=1.0, *, seed=0, diverged=False, **given):
    """Three evaluations of a run: its best accuracy is the second one, its last is 0.1 lower."""
    facts = {**FACTS, **FIXED.get(given.get("protocol"), {}), **given, "seed": seed}
    facts["run"] = "-".join(str(facts[name]) for name in (*given, "seed"))
    rows = []
    for k, (score, index) in enumerate(((0.1, 0.0), (accuracy + 0.1, V), (accuracy, V))):
        lost = diverged and k == 2
        rows.append(
            {
                **facts,
                "step": 10 * k,
                "epoch": float(k),
                "V": math.nan if lost else index,
                "consensus_accuracy": score,
                "consensus_loss": math.nan if lost else 1 / (k + 1),
                "workers_loss_mean": math.nan if lost else 2 / (k + 1),
                "messages": 200 * k,
                "diverged": lost,
            }
        )
    return rows


def metrics(*runs):
    return pd.DataFrame([row for rows in runs for row in rows])


def samples(lost=False):
    x = np.linspace(-3, 3, 5)
    parts = []
    for protocol in ("centralized", "gossip", "ngo"):
        for who, worker, kind in (
            ("consensus", -1, "prediction"), ("worker", 0, "prediction"), ("data", -1, "target")
        ):  # fmt: skip
            y = np.full(5, math.nan) if lost and protocol == "ngo" else np.sin(x)
            facts = {"protocol": protocol, "seed": 0, "who": who, "worker": worker, "kind": kind}
            parts.append(pd.DataFrame({**facts, "x": x, "y": y}))
    return pd.concat(parts)


@pytest.fixture(autouse=True)
def no_warnings():
    plots.house_style()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    plt.close("all")


SEEDS = (0, 1, 2)
BOTH = ("gossip", "ngo")
THREE = ("centralized", *BOTH)


def thresholds(lost):
    return metrics(*(
        run(0.5, v, seed=s, diverged=lost(s), protocol="gossip_until", v_threshold=v, workers=5)
        for v in (1.0, 5.0) for s in SEEDS
    ))  # fmt: skip


def exponents(lost):
    return metrics(
        *(run(0.5, 8.0, seed=s, protocol="gossip") for s in SEEDS),
        *(run(0.6, 4.0, seed=s, p=p, diverged=lost(s)) for p in (0.7, 0.9) for s in SEEDS),
    )


def random_graphs(lost):
    drawn = (
        run(0.5, 2 / u, seed=s, diverged=lost(s), protocol=q, topology="random", u=u)
        for q in BOTH for u in (0.2, 0.5) for s in SEEDS
    )  # fmt: skip
    return metrics(*(run(0.7, 0.0, seed=s, protocol="centralized") for s in SEEDS), *drawn)


def periods(lost):
    local = (
        run(0.4, 9.0, seed=s, diverged=lost(s), protocol="local_sgd", p=p, local_steps=h)
        for p in (1.0, 0.9) for h in (2, 5) for s in SEEDS
    )  # fmt: skip
    return metrics(*(run(0.6, 1.0, seed=s, protocol=q) for q in BOTH for s in SEEDS), *local)


def sizes(lost):
    return metrics(*(
        run(0.5 + (q == "ngo") * n / 100 + s / 10, 1.0, seed=s, diverged=lost(s), protocol=q,
            workers=n, samples_per_worker=80)
        for q in THREE for n in (4, 16) for s in SEEDS
    ))  # fmt: skip


def rates(lost):
    return metrics(
        *(run(0.5, 2.0, seed=s, protocol=q, topology=t) for q in BOTH
          for t in ("random", "complete") for s in SEEDS),
        *(run(0.4, 3.0, seed=s, diverged=lost(s), protocol=q, gamma=g)
          for q in BOTH for g in (0.1, 0.5) for s in SEEDS),
    )  # fmt: skip


def partitions(lost):
    """Accuracy falls with log V within a seed, but the seeds' levels hide it."""
    return metrics(*(
        run(0.5 - 0.02 * k + 0.1 * s, 10.0**k * 100**s, seed=s, diverged=lost(s) and k == 0,
            protocol=q, topology=t)
        for s in SEEDS
        for k, (q, t) in enumerate((q, t) for q in BOTH for t in ("ring", "random", "complete"))
    ))  # fmt: skip


def sines(lost):
    return metrics(
        *(run(math.nan, 1.0, seed=s, diverged=lost(s), protocol=q) for q in THREE for s in SEEDS)
    )


FIGURES = {
    "fig1": (learning_plots.threshold_figure, thresholds),
    "fig4": (learning_plots.nonlinearity_figure, exponents),
    "fig5": (learning_plots.random_graph_figure, random_graphs),
    "fig6": (learning_plots.local_steps_figure, periods),
    "fig7": (learning_plots.scaling_figure, sizes),
    "fig8": (synchronization_plots.stability_figure, rates),
    "figS4": (synchronization_plots.correlation_figure, partitions),
    "figS6": (lambda runs: learning_plots.toy_figure(runs, samples()), sines),
}


def whole(seed):
    return False


def draw(name, lost=whole):
    figure, runs = FIGURES[name]
    return figure(runs(lost))


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("lost", [lambda seed: seed == 1, lambda seed: True], ids=["one", "all"])
def test_every_figure_is_drawn_whatever_diverges(name, lost):
    figure, shown = draw(name, lost)
    words = " ".join(text.get_text() for axis in figure.axes for text in axis.texts)
    assert "diverged" in words
    for axis in figure.axes:
        assert axis.get_title() or not axis.axison
        assert axis.get_ylabel() or not axis.axison
    figure.canvas.draw()
    assert len(shown)


@pytest.mark.parametrize("name", FIGURES)
def test_one_seed_makes_a_figure_without_intervals(name):
    figure, runs = FIGURES[name]
    figure, shown = figure(runs(whole).query("seed == 0"))
    figure.canvas.draw()
    assert "low" not in shown or shown["low"].isna().all()


@pytest.mark.parametrize("name", FIGURES)
def test_runs_that_a_figure_cannot_tell_apart_are_no_seeds(name):
    figure, runs = FIGURES[name]
    once = runs(whole).assign(lr=0.1)
    again = once.assign(lr=0.2, run=once["run"] + "-lr0.2")
    by = ", ".join(ARTEFACTS[name].apart)
    message = rf"apart here by {by} and seed alone, but there are (\S+), \1-lr0.2; give runs that"
    with pytest.raises(UserError, match=message):
        figure(pd.concat([once, again]))


def test_fig4_draws_each_protocol_and_p():
    """Gossip and NGO at p = 1 too, and centralized learning, which has none."""
    given = (("centralized", math.nan), ("gossip", 1.0), ("ngo", 1.0), ("local_sgd", 0.9))
    runs = (run(0.5, protocol=q, p=p, seed=s) for q, p in given for s in SEEDS)
    figure, shown = learning_plots.nonlinearity_figure(metrics(*runs))
    curves = legend_labels(figure.axes[0])
    assert curves == ["centralized", "gossip, $p = 1$", "NGO, $p = 1$", "local SGD, $p = 0.9$"]
    assert all(len(line(figure.axes[0], label)[0]) == 3 for label in curves)
    assert set(shown["seeds"]) == {3}


def test_fig6_draws_what_has_no_period_too():
    given = ({"protocol": "centralized"}, {"protocol": "gossip"}, {"protocol": "delayed", "p": 1.0})
    runs = [run(0.5, **how, seed=s) for how in given for s in SEEDS]
    runs += [run(0.5, protocol="local_sgd", p=1.0, local_steps=h, seed=0) for h in (1, 5)]
    figure, _ = learning_plots.local_steps_figure(metrics(*runs))
    assert legend_labels(figure.axes[0]) == [
        "centralized", "gossip, every step", "local SGD, every 1 steps", "local SGD, every 5 steps",
        "delayed, every step",
    ]  # fmt: skip


def legend_labels(axis):
    return axis.get_legend_handles_labels()[1]


def panel(figure, title):
    return next(axis for axis in figure.axes if axis.get_title().endswith(title))


def line(axis, label):
    handles, labels = axis.get_legend_handles_labels()
    found = handles[labels.index(label)]
    found = getattr(found, "lines", [found])[0]
    return list(found.get_xdata()), list(found.get_ydata())


def test_fig1_shows_the_thresholds_and_the_ring():
    figure, _ = draw("fig1")
    index = panel(figure, "thresholds as lines")
    across = [a.get_ydata()[0] for a in index.lines if len(set(a.get_ydata())) == 1]
    assert {1.0, 5.0} <= set(across)
    assert panel(figure, "ring, $n = 5$").texts[0].get_text() == "0"
    assert line(panel(figure, "communication so far"), r"$V_\mathrm{th} = 1$") == (
        [0, 10, 20],
        [0, 200, 400],
    )


def test_fig4_has_gossip_at_p_1():
    figure, _ = draw("fig4")
    ends = panel(figure, "accuracy at the end")
    assert line(ends, "gossip") == ([1.0], [pytest.approx(50)])
    assert line(ends, "NGO") == ([0.7, 0.9], [pytest.approx(60)] * 2)
    looks = [(a.get_linestyle(), a.get_marker()) for a in panel(figure, "accuracy by $p$").lines]
    assert len(set(looks)) == 3  # told apart without colour


def test_fig5_shows_the_edge_probability_nearest_to_the_papers_and_the_budget():
    figure, shown = draw("fig5")
    assert panel(figure, "accuracy, $u = 0.5$")
    ends = panel(figure, "accuracy at the end")
    assert [label.get_text() for label in ends.get_xticklabels()] == ["0.2\n(20)", "0.5\n(20)"]
    assert line(ends, "centralized")[1] == [pytest.approx(70)] * 2
    assert shown[shown["protocol"] == "centralized"]["value"].nunique() == 3


def test_fig6_sets_both_couplings_on_the_same_axes():
    figure, _ = draw("fig6")
    linear, nonlinear, below, beside = figure.axes
    assert linear.get_ylim() == nonlinear.get_ylim()
    assert below.get_ylim() == beside.get_ylim()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        "gossip, every step", "NGO, every step",
        "local SGD, every 2 steps", "local SGD, every 5 steps",
    ]  # fmt: skip
    assert line(linear, "gossip, every step")[1] == pytest.approx([10, 70, 60])


def test_fig7_has_the_best_accuracy_and_the_difference_by_seed():
    figure, shown = draw("fig7")
    best = panel(figure, "best accuracy")
    assert line(best, "gossip") == ([4, 16], pytest.approx([70, 70]))
    assert line(best, "NGO") == ([4, 16], pytest.approx([74, 86]))
    gain = shown[shown["value"] == "difference"]
    assert gain["mean"].tolist() == pytest.approx([4, 16])
    # The seeds differ by 10 points, the protocols always by the same: the interval is empty.
    assert (gain["high"] - gain["low"]).tolist() == pytest.approx([0, 0], abs=1e-9)
    assert panel(figure, "paired by seed").get_ylim()[0] <= 0


def test_fig8_takes_the_gamma_that_all_topologies_share():
    figure, shown = draw("fig8")
    runs = panel(figure, r"every run at $\gamma = 0.1$")
    assert sum(len(a.get_xdata()) for a in runs.lines) == 2 * 3 * len(SEEDS)
    assert len({(a.get_marker(), a.get_fillstyle()) for a in runs.lines}) == 6
    floor = shown[shown["value"] == "predicted floor of V"].set_index("gamma")["mean"]
    with one_intra_op_thread():
        predicted = chatter_V(0.5, mixing_matrix(ring(10)), 0.9, 100)
    assert floor.index.tolist() == [0.1, 0.5]
    assert floor[0.5] == pytest.approx(predicted)


def test_fig_s4_tells_the_pooled_correlation_from_that_within_a_seed():
    found = synchronization_plots.correlations(partitions(whole)).iloc[0]
    ends = partitions(whole).query("step == 20")
    r = np.corrcoef(np.log(ends["V"]), ends["consensus_accuracy"])[0, 1]
    assert found["pearson"] == pytest.approx(r)
    assert found["pearson_low"] < r < found["pearson_high"]
    assert found["pearson"] > 0.3  # the seeds' levels
    assert found["within_seed"] == pytest.approx(-1)
    assert found["within_seed_ci95"] == pytest.approx(0, abs=1e-9)
    assert found["runs"] == 18
    assert draw("figS4")[0].axes[0].get_title().endswith("within a seed $r$ = −1.00")


def test_a_perfect_order_of_few_runs_is_no_certainty():
    """Of 4! orders two are as extreme; a straight line leaves no interval."""
    runs = [(0.5, 0.1), (0.6, 1.0), (0.7, 10.0), (0.8, 100.0)]
    line = metrics(*(run(a, V, seed=k) for k, (a, V) in enumerate(runs)))
    found = synchronization_plots.correlations(line).iloc[0]
    assert found["spearman"] == found["pearson"] == pytest.approx(1)
    assert found["spearman_p"] == pytest.approx(2 / 24)
    assert math.isnan(found["pearson_low"])
    figure, _ = synchronization_plots.correlation_figure(line)
    assert "Pearson $r$ = 1.00\nSpearman" in figure.axes[0].get_title()


def test_correlations_leave_diverged_runs_out_and_need_a_spread():
    found = synchronization_plots.correlations(partitions(lambda seed: seed == 1)).iloc[0]
    assert found["runs"] == 17
    flat = metrics(*(run(0.5, 1.0 + s, seed=s, protocol=q) for q in BOTH for s in SEEDS))
    found = synchronization_plots.correlations(flat).iloc[0]
    assert math.isnan(found["pearson"])
    assert math.isnan(found["spearman"])


def test_fig_s6_draws_the_fits_over_the_sine():
    figure, shown = draw("figS6")
    x = np.linspace(-3, 3, 5)
    for axis in figure.axes[:3]:
        np.testing.assert_allclose(line(axis, r"$\sin x$")[1], np.sin(x))
    assert [axis.get_title() for axis in figure.axes[:3]] == [
        "(a) centralized", "(b) gossip", "(c) NGO"
    ]  # fmt: skip
    assert set(shown["kind"].dropna()) == {"prediction", "target"}


def test_fig_s6_says_which_fit_diverged():
    figure, _ = learning_plots.toy_figure(sines(lambda seed: seed == 0), samples(lost=True))
    assert [text.get_text() for text in figure.axes[2].texts] == ["diverged"]
    figure.canvas.draw()
