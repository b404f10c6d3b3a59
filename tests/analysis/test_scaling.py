"""The best accuracy by the number of workers."""

import math

import pytest
from made_up import sizes

from ngo.analysis.scaling import best_accuracies


def test_the_best_accuracy_and_the_difference_by_seed():
    best, gain = best_accuracies(sizes())
    means = best.set_index(["protocol", "workers"])["mean"]
    assert means["gossip", 4] == pytest.approx(70)
    assert means["ngo", 16] == pytest.approx(86)
    assert gain["mean"].tolist() == pytest.approx([4, 16])
    # The seeds differ by 10 points, the protocols always by the same: the interval is empty.
    assert (gain["high"] - gain["low"]).tolist() == pytest.approx([0, 0], abs=1e-9)


def test_a_diverged_run_has_no_difference():
    _, gain = best_accuracies(sizes(lambda seed: seed == 1))
    assert gain["seeds"].tolist() == [2, 2]
    assert gain["diverged"].tolist() == [1, 1]
    _, gain = best_accuracies(sizes(lambda seed: True))
    assert all(map(math.isnan, gain["mean"]))
