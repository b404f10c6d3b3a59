"""Accuracy by the number of workers."""

import math

import pytest
from made_up import metrics, run, sizes
from made_up_graphs import graphs_of_sizes

from ngo.analysis.curves import scores
from ngo.analysis.scaling import best_accuracies, equal_steps, steps_to_target, with_best


def test_the_best_accuracy_and_the_difference_by_seed():
    best, gain = best_accuracies(sizes())
    means = best.set_index(["method", "workers"])["mean"]
    assert means["gossip", 4] == pytest.approx(70)
    assert means["ngo", 16] == pytest.approx(86)
    assert gain["mean"].tolist() == pytest.approx([4, 16])
    # The seeds differ by 10 points, the methods always by the same: the interval is empty.
    assert (gain["high"] - gain["low"]).tolist() == pytest.approx([0, 0], abs=1e-9)


def test_a_diverged_run_has_no_difference():
    _, gain = best_accuracies(sizes(lambda seed: seed == 1))
    assert gain["seeds"].tolist() == [2, 2]
    assert gain["diverged"].tolist() == [1, 1]
    _, gain = best_accuracies(sizes(lambda seed: True))
    assert all(map(math.isnan, gain["mean"]))


def test_a_missing_run_has_no_difference_and_is_not_a_diverged_one():
    rows = sizes()
    missing = (rows["method"] == "ngo") & (rows["workers"] == 4) & (rows["seed"] == 0)
    _, gain = best_accuracies(rows[~missing])
    assert gain.set_index("workers")["seeds"].to_dict() == {4: 2, 16: 3}
    assert gain["diverged"].tolist() == [0, 0]


def test_evaluations_on_a_part_of_the_test_set_are_never_the_best():
    rows = scores(metrics(run(0.5, seed=0)))  # 10, 60, 50 %
    assert with_best(rows)["best"].tolist() == pytest.approx([60])
    assert with_best(rows.assign(eval_images=0))["best"].tolist() == pytest.approx([60])
    assert with_best(rows.assign(eval_images=500))["best"].tolist() == pytest.approx([50])


def test_steps_to_a_target_are_linear_between_evaluations():
    rows = metrics(run(0.5, seed=0), run(0.2, seed=1), run(0.9, seed=2, diverged=True))
    found = steps_to_target(rows, 0.35).tolist()
    assert found == pytest.approx([5, math.nan, math.nan], nan_ok=True)
    assert steps_to_target(rows, 0.1).tolist()[0] == 0
    assert math.isnan(steps_to_target(rows, 0.35, steps=4).iloc[0])


def test_runs_of_several_sizes_at_equal_steps():
    rows = graphs_of_sizes()
    small = rows["workers"] == 4
    rows.loc[small, "step"] *= 2  # twice as many steps
    found = equal_steps(rows, 0.3)
    assert found.steps == 20
    assert found.course["step"].max() == 20
    key = ["method", "topology", "workers"]
    ends = found.ends[found.ends["value"] == "accuracy"].set_index(key)["mean"]
    assert ends["gossip", "ring", 4] == pytest.approx(50)  # its second evaluation
    assert ends["gossip", "ring", 16] == pytest.approx(40)
    gain = found.gain.set_index(["topology", "workers"])["mean"]
    assert gain["complete", 16] == pytest.approx(8)
    times = found.times.set_index(key)["mean"]
    assert times["gossip", "ring", 4] == pytest.approx(10)  # of 20: from 10 to 50 %
    assert times["gossip", "ring", 16] == pytest.approx(5)


def test_a_mean_of_times_is_that_of_all_runs_or_none():
    rows = graphs_of_sizes(lambda seed: seed == 2)
    late = rows[(rows["seed"] == 1) & (rows["topology"] == "ring")].index
    rows.loc[late, "consensus_accuracy"] = 0.1
    times = equal_steps(rows, 0.3).times.set_index(["topology", "method", "workers"])
    ring, other = times.loc["ring", "ngo", 4], times.loc["random", "ngo", 4]
    assert (ring["late"], ring["diverged"]) == (1, 1)
    assert math.isnan(ring["mean"])
    assert (other["late"], other["diverged"]) == (0, 1)
    assert other["mean"] > 0
