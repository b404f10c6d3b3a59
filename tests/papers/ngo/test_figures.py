"""The NGO paper's figures."""

import math

import made_up
import numpy as np
import pytest
from figure_files import drawn, executed, functions, numbers
from made_up import SEEDS, line, metrics, panel, run

from ngo.analysis.budgets import speedup_means, steps_to_targets
from ngo.analysis.seed_means import part, scores, with_best
from verdicts.registry import UserError

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def near(sizes):
    """Numbers of workers at which markers stand, a few percent apart from each other."""
    return pytest.approx(sizes, rel=0.15)


def test_fig4_frames_the_best_gamma_of_each_p():
    figure, shown = drawn("fig4", made_up.exponents())
    best = shown[shown["best"] & (shown["value"] == "accuracy")].set_index("p")
    assert best["gamma"].to_dict() == {0.7: 0.1, 0.9: 0.3, 1.0: 0.3}
    axis = panel(figure, "accuracy (%)")
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0.7", "0.9", "1"]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["0.3", "0.1"]
    cells = [text.get_text() for text in axis.texts]
    assert cells == ["50", "60", "60", "60", "50", "50"]
    corners = {(round(frame.get_x()), round(frame.get_y())) for frame in axis.patches}
    assert corners == {(0, 1), (1, 0), (2, 0)}
    figure, _ = drawn("fig4", made_up.exponents(lambda seed: seed == 0))
    assert panel(figure, "accuracy (%)").texts[0].get_text() == "50\n×1/3"


def test_gains_are_over_gossip_at_the_shared_gamma():
    figure, shown = drawn("gamma_or_p", made_up.pulls())
    gains = shown[shown["value"] == "gain"].set_index(["topology", "method", "p"])["mean"]
    assert gains.to_dict() == pytest.approx(
        {(g, *case): gain for g in ("ring", "complete")
         for case, gain in {("gossip", 1): 5, ("ngo", 0.9): 4, ("ngo", 0.8): 9}.items()}
    )  # fmt: skip
    ring = panel(figure, "ring, from 60.0 %")
    assert line(ring, "NGO, γ = 0.2") == ([0.8, 0.9], pytest.approx([9, 4]))
    assert line(ring, "gossip, γ = 0.4")[1] == pytest.approx([5, 5])


def test_test_accuracy_chooses_nothing():
    _, shown = drawn("fig4", made_up.exponents().assign(holdout_accuracy=math.nan))
    assert not shown["best"].any()


def test_the_panels_show_the_best_accuracy_and_the_difference():
    figure, shown = drawn("fig7", made_up.sizes())
    best = panel(figure, "best accuracy")
    assert line(best, "gossip") == (near([4, 16]), pytest.approx([70, 70]))
    assert line(best, "NGO") == (near([4, 16]), pytest.approx([74, 86]))
    gain = shown[shown["value"] == "difference"]
    assert gain["mean"].tolist() == pytest.approx([4, 16])
    # The seeds differ by 10 points, the methods always by the same: the interval is empty.
    assert (gain["high"] - gain["low"]).tolist() == pytest.approx([0, 0], abs=1e-9)
    assert panel(figure, "paired by seed").get_ylim()[0] <= 0


def test_evaluations_on_a_part_of_the_test_set_are_never_the_best():
    rows = scores(metrics(run(0.5, seed=0)))  # 10, 60, 50 %
    assert with_best(rows)["best"].tolist() == pytest.approx([60])
    assert with_best(rows.assign(eval_images=0))["best"].tolist() == pytest.approx([60])
    assert with_best(rows.assign(eval_images=500))["best"].tolist() == pytest.approx([50])


def test_runs_are_compared_at_the_gamma_that_all_topologies_share():
    _, shown = drawn("fig8", made_up.rates(), made_up.often())
    runs, by_gamma = part(shown, "runs"), part(shown, "by_gamma")
    assert set(runs.loc[runs["at_shared"].astype(bool), "gamma"]) == {0.1}
    assert set(by_gamma["topology"]) == {"ring"}
    assert len(runs) == 2 * 4 * len(SEEDS)
    assert runs["at_shared"].sum() == 2 * 3 * len(SEEDS)
    assert sorted(by_gamma["gamma"].unique()) == [0.1, 0.5]


def test_fig_a1_shows_each_step_with_a_column_for_each_worker():
    table = made_up.pictures(2, (1, 4, 5))
    figure, _ = drawn("figA1", table)
    early, late, spread = figure.axes
    assert early.get_title() == "after 2 steps, diverged"
    assert late.get_title() == "after 200 steps"
    generated = table.query("step == 200 and kind == 'generation' and worker == 1")
    second = generated[generated["image"] == 1].sort_values(["row", "column"])["value"]
    assert late.images[0].get_array()[5:9, 6:11].ravel().tolist() == second.tolist()
    assert spread.lines[-1].get_xydata().tolist() == [[2, 5], [200, 0.05]]


def test_fig_s6_draws_the_fits_over_the_sine():
    figure, shown = drawn("figS6", made_up.sines(), made_up.sine_fits())
    x = np.linspace(-3, 3, 5)
    fits, errors, workers = figure.axes[:3]
    np.testing.assert_allclose(line(fits, r"$\sin x$")[1], np.sin(x))
    off = np.array(line(fits, "NGO")[1]) - np.sin(x)
    np.testing.assert_allclose(line(errors, "NGO")[1], off)
    assert workers.get_title() == "(c) workers − consensus"
    assert set(shown["kind"].dropna()) == {"prediction", "target"}


def test_the_panels_show_medians_and_their_speed_up():
    figure, _ = drawn("throughput", made_up.throughputs())
    left, right = figure.axes
    assert left.containers[1].lines[0].get_ydata().tolist() == [10, 20, 40]
    for container in right.containers:
        assert container.lines[0].get_ydata().tolist() == [1, 2, 4]
    assert [label.get_text() for label in right.get_xticklabels()] == ["1", "2", "4"]
    assert right.get_title() == "(b) speed-up over one worker"


def test_each_size_has_its_curves_and_each_case_its_steps_to_the_target():
    figure, shown = drawn("figS3", made_up.graphs_of_sizes(), 0.3)
    curves = panel(figure, "$n = 16$")
    assert line(curves, "gossip, ring") == ([0, 10, 20], pytest.approx([10, 50, 40]))
    assert line(curves, "NGO, complete")[1] == pytest.approx([10, 78, 68])
    times = panel(figure, "ring: steps to 30 %")
    assert line(times, "gossip, ring") == (near([4, 16]), pytest.approx([5, 5]))
    gain = panel(figure, "ring: accuracy")
    assert line(gain, "NGO, ring") == (near([4, 16]), pytest.approx([2, 8]))
    assert set(shown["steps"]) == {20}


def test_runs_of_several_sizes_at_equal_steps():
    rows = made_up.graphs_of_sizes()
    small = rows["workers"] == 4
    rows.loc[small, "step"] *= 2  # twice as many steps
    shown = numbers("figS3", rows, target_accuracy=0.3)
    course, ends, times, gain = (part(shown, name) for name in ("course", "ends", "times", "gain"))
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


def test_the_pooled_correlation_differs_from_that_within_a_seed():
    actual = numbers("figS4", made_up.levels()).iloc[0]  # the only data set and partition
    ends = made_up.levels().query("step == 20")
    r = np.corrcoef(np.log(ends["V"]), ends["consensus_accuracy"])[0, 1]
    assert actual["pearson"] == pytest.approx(r)
    assert actual["pearson_low"] < r < actual["pearson_high"]
    assert actual["pearson"] > 0.3  # the seeds' levels
    assert actual["within_seed"] == pytest.approx(-1)
    assert math.isnan(actual["within_seed_low"])  # straight lines leave no interval
    assert actual["seeds"] == 3
    assert actual["runs"] == 18


def test_the_panels_show_steps_and_speed_up():
    figure, _ = drawn("figA2", made_up.speeding_up(), 50, 80)
    x, y = line(panel(figure, "steps to a target"), "NGO, early target")
    assert x == [1, 2]
    assert y == pytest.approx([50, 12.5])
    _, y = line(panel(figure, "speed-up, gossip"), "gossip, late target")
    assert y == pytest.approx([1, 2])
    _, y = line(panel(figure, "speed-up, NGO"), "NGO, early target")
    assert y == pytest.approx([1, 4])


def test_a_run_that_never_gets_there_is_no_point():
    lost = made_up.speeding_up()
    short = (lost["method"] == "ngo") & (lost["seed"] == 2) & (lost["step"] > 10)
    actual = steps_to_targets(lost[~short], {"early": 50, "late": 80})
    late = actual[(actual["target"] == "late") & (actual["method"] == "ngo")]
    late = late[late["workers"] == 2].set_index("seed")
    assert late["steps"].tolist() == pytest.approx([20, 20, math.inf])
    assert late["speedup"].tolist() == pytest.approx([4, 4, 0])
    means = speedup_means(actual).set_index(["target", "method", "workers"])
    row = means.loc[("late", "ngo", 2)]
    assert (row["seeds"], row["reached"]) == (3, 2)
    assert math.isnan(row["steps"])
    assert math.isnan(row["speedup"])
    kept = means.loc[("late", "gossip", 2)]
    assert (kept["reached"], kept["speedup"]) == (3, pytest.approx(2))
    assert [kept["speedup_low"], kept["speedup_high"]] == pytest.approx([2, 2])


def test_fig2_takes_no_runs_that_differ_otherwise_for_seeds():
    with pytest.raises(UserError, match="dataset, method, topology and seed alone.* r0, r1;"):
        drawn("fig2", made_up.aligned().assign(seed=0))


def test_means_are_over_seeds_and_v_is_geometric():
    actual = functions("fig2").alignment(made_up.aligned(), "cosine")
    workers, mean = actual["workers"], actual["mean"]
    assert workers["V"].tolist() == pytest.approx([0, 2**0.5, 4 * 2**0.5])
    assert workers["mean"].tolist() == pytest.approx([1.01, 0.51, 1 / 3 + 0.01])
    assert mean["mean"].tolist() == pytest.approx([0.99, 0.49, 1 / 3 - 0.01])
    assert workers["least"].tolist() == pytest.approx([1, 0.5, 1 / 3])
    assert workers["greatest"].tolist() == pytest.approx([1.02, 0.52, 1 / 3 + 0.02])


def test_fig5_shows_the_edge_probability_nearest_to_the_papers_and_the_budget():
    figure, shown = drawn("fig5", made_up.random_graphs())
    assert panel(figure, "accuracy, $u = 0.5$")
    ends = panel(figure, "(b) at the end")
    assert [label.get_text() for label in ends.get_xticklabels()] == ["0.2\n(20)", "0.5\n(20)"]
    assert line(ends, "centralized")[1] == [pytest.approx(70)] * 2
    assert shown[shown["method"] == "centralized"]["value"].nunique() == 5
    assert set(shown["part"]) == {"course", "ends", "equal"}


def test_at_equal_bytes_a_run_that_sends_more_is_shown_earlier():
    runs = made_up.random_graphs()
    dense = runs["u"] == 0.5
    runs.loc[dense, "bytes_sent"] *= 2
    figure, _ = drawn("fig5", runs)
    assert line(panel(figure, "(c) at equal bytes"), "gossip")[1] == pytest.approx([50, 60])


def test_V_is_its_mean_over_training_beside_the_course():
    _, shown = drawn("fig5", made_up.random_graphs())
    actual = {name: part(shown, name) for name in ("course", "ends", "equal")}
    assert all(set(table["value"]) >= {"accuracy"} for table in actual.values())
    ends, equal = (actual[name].query("value == 'V_mean'") for name in ("ends", "equal"))
    V = ends[ends["method"].eq("ngo")].set_index("topology")["mean"]
    assert V["ring"] == pytest.approx(12)  # of 12 and 12: the start does not count
    assert len(equal) == len(ends)
    assert "V_mean" not in set(actual["course"]["value"])


def test_couplings_are_named_whatever_the_method():
    rows = metrics(
        run(0.5, method="gossip"),
        run(0.5, method="gossip", gamma=1),
        run(0.5, method="ngo", gamma=1),
        run(0.5, method="local_sgd", p=1.0, local_steps=5),
        run(0.5, method="local_sgd", p=0.9, local_steps=5),
        run(0.5, method="local_sgd", p=1.0, gamma=1, local_steps=5),
        run(0.5, method="centralized", local_steps=None),
    )
    actual = executed("fig6", rows, count=1)["every"].drop_duplicates("run")
    assert actual["coupling"].tolist() == [
        "gossip", "averaging", "ngo, whole steps", "gossip", "ngo", "averaging", "centralized",
    ]  # fmt: skip
    assert actual["local_steps"].tolist() == [1, 1, 1, 5, 5, 5, 1]


def test_accuracy_at_the_end_and_at_equal_bytes():
    shown = numbers("fig6", made_up.periods())
    key = ["partition", "coupling", "local_steps", "value"]
    ends, equal = (part(shown, name).set_index(key)["mean"] for name in ("ends", "equal"))
    assert ends["iid", "gossip", 1, "accuracy"] == pytest.approx(60)
    # The budget is a fifth of what gossip sends: two fifths of the way from 10 to 70 %.
    assert equal["iid", "gossip", 1, "accuracy"] == pytest.approx(34)
    assert equal["iid", "averaging", 5, "accuracy"] == pytest.approx(40)
    # Over gossip with H = 1, which has 60 and 34 %.
    assert ends["iid", "gossip", 1, "gain"] == pytest.approx(0)
    assert equal["iid", "averaging", 5, "gain"] == pytest.approx(6)


def test_both_couplings_stand_at_their_delays():
    figure, shown = drawn("delay", made_up.delays(), made_up.tuned_delays())
    accuracy = panel(figure, r"digits, shards, ring, same $\gamma$")
    assert line(accuracy, "gossip") == ([0, 1, 5], pytest.approx([40, 40, 40]))
    assert line(accuracy, "NGO") == ([0, 1, 5], pytest.approx([40, 42, 50]))
    assert line(panel(figure, "paired by seed"), "NGO")[1] == pytest.approx([0, 2, 10], abs=1e-9)
    assert set(shown["value"].dropna()) == {"accuracy", "V", "difference"}


def test_each_method_is_at_its_best_values_of_each_delay():
    figure, shown = drawn("delay", made_up.delays(), made_up.tuned_delays())
    chosen = part(shown, "chosen").set_index(["delay", "method"])
    assert chosen["gamma"].to_dict() == {
        (1, "gossip"): 0.4, (1, "ngo"): 0.2, (5, "gossip"): 0.1, (5, "ngo"): 0.1,
    }  # fmt: skip
    assert chosen["edge"].to_dict()[1, "gossip"] == "largest"
    assert chosen["edge"].isna()[1, "ngo"]
    best = panel(figure, r"digits, shards, ring, own best")
    assert line(best, "gossip") == ([1, 5], pytest.approx([60, 60]))
    words = " ".join(executed("delay", made_up.delays(), made_up.tuned_delays())["notes"])
    assert "τ = 1, gossip: p = 1, γ = 0.4 (largest); τ = 1, NGO: p = 0.9, γ = 0.2;" in words
