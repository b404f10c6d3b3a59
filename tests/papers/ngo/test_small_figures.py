"""The figures of the NGO paper that are drawn from few columns."""

import math

import numpy as np
import pandas as pd
import pytest
from figure_files import drawn, functions, numbers
from made_up import (
    BOTH,
    SEEDS,
    exponents,
    labels,
    levels,
    line,
    metrics,
    panel,
    pictures,
    rates,
    run,
    sine_fits,
    sines,
    sizes,
    straight_line,
    thresholds,
)
from made_up_graphs import graphs_of_sizes
from made_up_speed import speeding_up, throughputs, trajectories
from often_evaluated import often

from ngo.analysis.seed_means import part, scores
from ngo.gossip.bounds import chatter_V
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import ring
from ngo.native.pool import one_intra_op_thread

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig1_shows_the_thresholds_and_the_ring():
    figure, _ = drawn("fig1", thresholds())
    index = panel(figure, "least squares:\nsynchronization")
    across = [a.get_ydata()[0] for a in index.lines if len(set(a.get_ydata())) == 1]
    assert {1.0, 5.0} <= set(across)
    assert panel(figure, "ring, $n = 5$").texts[0].get_text() == "0"
    assert line(panel(figure, "communication"), "sine net") == ([1, 5], [400, 400])
    loss = line(panel(figure, "sine net:\nconsensus model"), r"$V_\mathrm{th} = 5$")
    assert loss == ([10, 20], pytest.approx([1 / 2, 1 / 3]))


def test_fig4_marks_the_best_gamma_of_each_p():
    figure, _ = drawn("fig4", exponents())
    x, y = line(panel(figure, "accuracy by $p$"), r"best $\gamma$ of $p$")
    assert dict(zip(x, y, strict=True)) == pytest.approx({0.7: 60, 0.9: 60, 1.0: 60})
    courses = labels(panel(figure, r"accuracy at each $p$'s own best $\gamma$"))
    assert courses == [
        r"gossip, $p = 1$, $\gamma = 0.3$",
        r"NGO, $p = 0.9$, $\gamma = 0.3$",
        r"NGO, $p = 0.7$, $\gamma = 0.1$",
    ]


def test_each_p_has_its_own_best_gamma_by_held_out_accuracy():
    _, shown = drawn("fig4", exponents())
    ends, course = part(shown, "ends"), part(shown, "course")
    best = ends[ends["best"].astype(bool) & (ends["value"] == "V")]
    assert best.set_index("p")["gamma"].to_dict() == {1.0: 0.3, 0.9: 0.3, 0.7: 0.1}
    assert len(ends) == 2 * 6
    assert set(zip(course["p"], course["gamma"], strict=True)) == {
        (1.0, 0.3), (0.9, 0.3), (0.7, 0.1)
    }  # fmt: skip


def test_test_accuracy_chooses_nothing():
    _, shown = drawn("fig4", exponents().assign(holdout_accuracy=math.nan))
    assert not part(shown, "ends")["best"].any()
    assert part(shown, "course").empty


def test_the_panels_show_the_best_accuracy_and_the_difference():
    figure, shown = drawn("fig7", sizes())
    best = panel(figure, "best accuracy")
    assert line(best, "gossip") == ([4, 16], pytest.approx([70, 70]))
    assert line(best, "NGO") == ([4, 16], pytest.approx([74, 86]))
    gain = shown[shown["value"] == "difference"]
    assert gain["mean"].tolist() == pytest.approx([4, 16])
    # The seeds differ by 10 points, the methods always by the same: the interval is empty.
    assert (gain["high"] - gain["low"]).tolist() == pytest.approx([0, 0], abs=1e-9)
    assert panel(figure, "paired by seed").get_ylim()[0] <= 0


def test_evaluations_on_a_part_of_the_test_set_are_never_the_best():
    with_best = functions("fig7").with_best
    rows = scores(metrics(run(0.5, seed=0)))  # 10, 60, 50 %
    assert with_best(rows)["best"].tolist() == pytest.approx([60])
    assert with_best(rows.assign(eval_images=0))["best"].tolist() == pytest.approx([60])
    assert with_best(rows.assign(eval_images=500))["best"].tolist() == pytest.approx([50])


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


def test_fig_a1_shows_each_step_with_a_column_for_each_worker():
    table = pictures(2, (1, 4, 5))
    figure, _ = drawn("figA1", table)
    early, late = figure.axes
    assert early.get_title() == "after 2 steps, diverged"
    assert late.get_title() == "after 200 steps"
    own = table[(table["step"] == 200) & (table["kind"] == "generation") & (table["worker"] == 1)]
    third = own[own["image"] == 2].sort_values(["row", "column"])["value"]
    assert late.images[0].get_array()[10:14, 6:11].ravel().tolist() == third.tolist()


def test_the_caption_has_the_variance_between_workers_at_each_step():
    said = functions("figA1").variances(pictures(2, (1, 4, 5)))
    assert said.endswith(": 0.05 after 2 steps, 0.0005 after 200 steps.")


@pytest.fixture(scope="module")
def delayed():
    return trajectories((0.75, 1.0), (0, 20, 50, 70), rounds=300)


def test_fig_s1_shows_v_for_all_delays_and_states_on_either_side_of_the_limit(delayed):
    figure, _ = drawn("figS1", delayed, consensus_share=0.1)
    index, *states = figure.axes[4:]
    assert [axis.get_title() for axis in states] == [
        "$p=1$, $\\tau=0$", "$p=1$, $\\tau=50$", "$p=1$, $\\tau=70$"
    ]  # fmt: skip
    assert [len(axis.lines) for axis in states] == [10, 10, 10]
    curves = [line for line in index.lines if line.get_linestyle() != "None"]
    assert len({line.get_linestyle() for line in curves}) == 4
    labels = [line.get_label() for line in curves]
    assert labels[0] == "$\\tau=0$"
    assert labels[3] == "$\\tau=70=1.2\\,\\tau^*$"
    part = delayed[(delayed["p"] == 1) & (delayed["delay"] == 50)].drop_duplicates("round")
    assert curves[2].get_ydata().tolist() == part["V"].tolist()


@pytest.fixture
def counts():
    grid = [(w, k, 3 * (w == k)) for w in range(4) for k in range(5)]
    frame = pd.DataFrame(grid, columns=["worker", "label", "samples"])
    return frame.assign(dataset="digits", partition="shards", seed=0)


def test_fig_s2_shows_the_counts_and_the_classes_covered(counts):
    figure, _ = drawn("figS2", counts)
    axis = figure.axes[0]
    assert axis.get_title() == "digits, shards,\nseed 0: 4 of 5 classes"
    assert axis.collections[0].get_array().sum() == 12
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("worker", "class")


def test_the_caption_counts_samples_and_classes_of_a_worker(counts):
    worker_counts = functions("figS2").worker_counts
    assert worker_counts(counts) == "digits: 3 samples of 1 classes a worker."
    counts.loc[(counts["worker"] == 2) & (counts["label"] == 4), "samples"] = 2000
    assert worker_counts(counts) == "digits: 3 to 2,003 samples of 1 to 2 classes a worker."


def test_fig_s5_shows_the_last_step_in_grey_and_colour():
    grey, colour = pictures(2, (1, 4, 5)), pictures(3, (3, 4, 5), dataset="cifar10")
    figure, _ = drawn("figS5", pd.concat([grey, colour], ignore_index=True))
    left, right, left_colour, right_colour = figure.axes
    assert left.images[0].get_array().shape == (4 * 5 - 1, 2 * 6 - 1)
    assert right.images[0].get_array().shape == (3 * 5 - 1, 2 * 6 - 1)
    assert right_colour.images[0].get_array().shape == (3 * 5 - 1, 3 * 6 - 1, 3)
    last = colour[(colour["step"] == 200) & (colour["kind"] == "reconstruction")]
    first = last[last["image"] == 0].sort_values(["row", "column", "channel"])["value"]
    shown = left_colour.images[0].get_array()[5:9, :5]  # below its original
    assert shown.ravel().tolist() == first.tolist()


def test_the_caption_has_the_loss_at_the_end_beside_that_of_class_means():
    tables = pictures(2, (1, 4, 5)), pictures(3, (3, 4, 5), dataset="cifar10")
    said = functions("figS5").losses(pd.concat(tables))
    assert said.endswith("of its class: digits 150 and 172; cifar10 150 and 172.")


def test_fig_s6_draws_the_fits_over_the_sine():
    figure, shown = drawn("figS6", sines(), sine_fits())
    x = np.linspace(-3, 3, 5)
    for axis in figure.axes[:3]:
        np.testing.assert_allclose(line(axis, r"$\sin x$")[1], np.sin(x))
    assert [axis.get_title() for axis in figure.axes[:3]] == [
        "(a) centralized", "(b) gossip", "(c) NGO"
    ]  # fmt: skip
    assert set(shown["kind"].dropna()) == {"prediction", "target"}


def test_the_panels_show_medians_and_their_speed_up():
    figure, _ = drawn("throughput", throughputs())
    left, right = figure.axes
    assert left.containers[1].lines[0].get_ydata().tolist() == [10, 20, 40]
    for container in right.containers:
        assert container.lines[0].get_ydata().tolist() == [1, 2, 4]
    assert [label.get_text() for label in right.get_xticklabels()] == ["1", "2", "4"]
    assert right.get_title() == "speed-up over one worker"


def test_medians_and_range_are_over_the_repeats():
    found = functions("throughput").speedups(throughputs()).set_index(["method", "workers"])
    assert found.loc[("gossip", 4), ["median", "low", "high"]].tolist() == [80, 40, 120]
    assert found.loc["ngo", "base"].tolist() == [10, 10, 10]
    assert found.loc["gossip", "base"].tolist() == [20, 20, 20]


PARTS = ("course", "ends", "times", "gain")


def beside(sizes):
    """Numbers of workers at which markers stand, a few percent apart from each other."""
    return pytest.approx(sizes, rel=0.15)


def test_each_size_has_its_curves_and_each_case_its_steps_to_the_target():
    figure, shown = drawn("figS3", graphs_of_sizes(), 0.3)
    curves = panel(figure, "$n = 16$")
    assert line(curves, "gossip, ring") == ([0, 10, 20], pytest.approx([10, 50, 40]))
    assert line(curves, "NGO, complete")[1] == pytest.approx([10, 78, 68])
    times = panel(figure, "steps to a test accuracy of 30 %")
    assert line(times, "gossip, ring") == (beside([4, 16]), pytest.approx([5, 5]))
    gain = panel(figure, "paired by seed")
    assert line(gain, "NGO, ring") == (beside([4, 16]), pytest.approx([2, 8]))
    assert set(shown["steps"]) == {20}


def test_runs_of_several_sizes_at_equal_steps():
    rows = graphs_of_sizes()
    small = rows["workers"] == 4
    rows.loc[small, "step"] *= 2  # twice as many steps
    shown = numbers("figS3", rows, target_accuracy=0.3)
    course, ends, times, gain = (part(shown, name) for name in PARTS)
    assert set(shown["steps"]) == {20}
    assert course["step"].max() == 20
    key = ["method", "topology", "workers"]
    ends = ends[ends["value"] == "accuracy"].set_index(key)["mean"]
    assert ends["gossip", "ring", 4] == pytest.approx(50)  # its second evaluation
    assert ends["gossip", "ring", 16] == pytest.approx(40)
    gain = gain.set_index(["topology", "workers"])["mean"]
    assert gain["complete", 16] == pytest.approx(8)
    times = times.set_index(key)["mean"]
    assert times["gossip", "ring", 4] == pytest.approx(10)  # of 20: from 10 to 50 %
    assert times["gossip", "ring", 16] == pytest.approx(5)


def test_a_mean_of_times_is_that_of_all_runs_or_none():
    rows = graphs_of_sizes(lambda seed: seed == 2)
    late = rows[(rows["seed"] == 1) & (rows["topology"] == "ring")].index
    rows.loc[late, "consensus_accuracy"] = 0.1
    times = part(numbers("figS3", rows, target_accuracy=0.3), "times").set_index(
        ["topology", "method", "workers"]
    )
    ring, other = times.loc["ring", "ngo", 4], times.loc["random", "ngo", 4]
    assert (ring["late"], ring["diverged"]) == (1, 1)
    assert math.isnan(ring["mean"])
    assert (other["late"], other["diverged"]) == (0, 1)
    assert other["mean"] > 0


def correlations(runs):
    """The numbers of the only data set and partition."""
    return numbers("figS4", runs).iloc[0]


def test_the_pooled_correlation_differs_from_that_within_a_seed():
    found = correlations(levels())
    ends = levels().query("step == 20")
    r = np.corrcoef(np.log(ends["V"]), ends["consensus_accuracy"])[0, 1]
    assert found["pearson"] == pytest.approx(r)
    assert found["pearson_low"] < r < found["pearson_high"]
    assert found["pearson"] > 0.3  # the seeds' levels
    assert found["within_seed"] == pytest.approx(-1)
    assert math.isnan(found["within_seed_low"])  # straight lines leave no interval
    assert found["seeds"] == 3
    assert found["runs"] == 18


def test_correlations_leave_diverged_runs_out_and_need_a_spread():
    found = correlations(levels(lambda seed: seed == 1))
    assert found["runs"] == 17
    flat = metrics(*(run(0.5, 1.0 + s, seed=s, method=q) for q in BOTH for s in SEEDS))
    found = correlations(flat)
    assert math.isnan(found["pearson"])
    assert math.isnan(found["spearman"])


def test_a_perfect_order_of_few_runs_is_no_certainty():
    """Two of the 4! orders are as extreme; a straight line leaves no interval."""
    found = correlations(straight_line())
    assert found["spearman"] == found["pearson"] == pytest.approx(1)
    assert found["spearman_p"] == pytest.approx(2 / 24)
    assert math.isnan(found["pearson_low"])


figA2 = functions("figA2")

TARGETS = {"early": 50, "late": 80}


def test_the_panels_show_steps_and_speed_up():
    figure, _ = drawn("figA2", speeding_up(), 50, 80)
    x, y = line(panel(figure, "steps to a target"), "NGO, early target")
    assert x == [1, 2]
    assert y == pytest.approx([50, 12.5])
    _, y = line(panel(figure, "speed-up, gossip"), "gossip, late target")
    assert y == pytest.approx([1, 2])
    _, y = line(panel(figure, "speed-up, NGO"), "linear")
    assert y == [1, 2]


def test_steps_are_linear_between_evaluations_and_paired_by_seed():
    found = figA2.steps_to_targets(speeding_up(), TARGETS)
    early = found[found["target"] == "early"].set_index(["method", "workers", "seed"])
    # In 10 steps, accuracy rises by 10 points with one worker, with two by 20 or 40.
    assert early.loc[("gossip", 1), "steps"].tolist() == pytest.approx([50, 50, 50])
    assert early.loc[("ngo", 1), "steps"].tolist() == pytest.approx([50, 50, 50])
    assert early.loc[("gossip", 2), "speedup"].tolist() == pytest.approx([2, 2, 2])
    assert early.loc[("ngo", 2), "speedup"].tolist() == pytest.approx([4, 4, 4])
    assert set(found["accuracy"]) == {50, 80}
    assert "centralized" not in set(found["method"])


def test_a_run_that_never_gets_there_is_no_point():
    lost = speeding_up()
    short = (lost["method"] == "ngo") & (lost["seed"] == 2) & (lost["step"] > 10)
    found = figA2.steps_to_targets(lost[~short], TARGETS)
    late = found[(found["target"] == "late") & (found["method"] == "ngo")]
    late = late[late["workers"] == 2].set_index("seed")
    assert late["steps"].tolist() == pytest.approx([20, 20, math.inf])
    assert late["speedup"].tolist() == pytest.approx([4, 4, 0])
    means = figA2.speedup_means(found).set_index(["target", "method", "workers"])
    row = means.loc[("late", "ngo", 2)]
    assert (row["seeds"], row["reached"]) == (3, 2)
    assert math.isnan(row["steps"])
    assert math.isnan(row["speedup"])
    kept = means.loc[("late", "gossip", 2)]
    assert (kept["reached"], kept["speedup"]) == (3, pytest.approx(2))
    assert [kept["speedup_low"], kept["speedup_high"]] == pytest.approx([2, 2])


def test_means_are_geometric_without_an_interval_of_two_seeds():
    table = pd.DataFrame(
        {"target": "early", "accuracy": 50, "method": "ngo", "workers": 2, "seed": [0, 1],
         "steps": [10.0, 40.0], "speedup": [1.0, 4.0]}
    )  # fmt: skip
    row = figA2.speedup_means(table).iloc[0]
    assert (row["steps"], row["speedup"]) == (pytest.approx(20), pytest.approx(2))
    assert math.isnan(row["speedup_low"])
    assert math.isnan(row["steps_high"])
