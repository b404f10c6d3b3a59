"""Figure 2: alignment of gradients."""

import math

import numpy as np
import pytest
from figure_files import drawn, functions
from made_up import aligned

from ngo.common.registry import UserError

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

fig2 = functions("fig2")


def test_fig2_takes_no_runs_that_differ_otherwise_for_seeds():
    with pytest.raises(UserError, match="dataset, method, topology and seed alone.* r0, r1;"):
        drawn("fig2", aligned().assign(seed=0))


def test_means_are_over_seeds_and_v_is_geometric():
    found = fig2.alignment(aligned(), "cosine", log=False)
    workers, mean = found["workers"], found["mean"]
    assert workers["V"].tolist() == pytest.approx([0, 2**0.5, 4 * 2**0.5])
    assert workers["mean"].tolist() == pytest.approx([1.01, 0.51, 1 / 3 + 0.01])
    assert mean["mean"].tolist() == pytest.approx([0.99, 0.49, 1 / 3 - 0.01])
    assert workers["least"].tolist() == pytest.approx([1, 0.5, 1 / 3])
    assert workers["greatest"].tolist() == pytest.approx([1.02, 0.52, 1 / 3 + 0.02])


def test_lengths_are_averaged_as_logarithms():
    rows = aligned(seeds=3)
    rows["relative_norm"] *= np.choose(rows["seed"], [4, 2, 1])
    found = fig2.alignment(rows, "relative_norm", log=True)
    curve = found["workers"]
    assert curve["mean"].tolist() == pytest.approx([2, 4, 6])
    assert (curve["low"] * curve["high"]).tolist() == pytest.approx([4, 16, 36])


def test_the_trained_v_is_that_at_scale_1():
    assert fig2.trained_V(aligned()) == pytest.approx(2**0.5)
    assert math.isnan(fig2.trained_V(aligned(diverged=(0, 1))))
