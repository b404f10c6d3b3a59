"""Directions and lengths of gradients against V, over seeds."""

import math

import numpy as np
import pytest
from made_up import aligned

from ngo.analysis.gradient_alignment import alignment, groups, trained_V
from ngo.common.registry import UserError


def test_means_are_over_seeds_and_v_is_geometric():
    found = alignment(aligned(), "cosine", log=False)
    assert found.V.tolist() == pytest.approx([0, 2**0.5, 4 * 2**0.5])
    assert found.workers.mean.tolist() == pytest.approx([1.01, 0.51, 1 / 3 + 0.01])
    assert found.mean.mean.tolist() == pytest.approx([0.99, 0.49, 1 / 3 - 0.01])
    assert found.least.tolist() == pytest.approx([1, 0.5, 1 / 3])
    assert found.greatest.tolist() == pytest.approx([1.02, 0.52, 1 / 3 + 0.02])


def test_lengths_are_averaged_as_logarithms():
    rows = aligned(seeds=3)
    rows["relative_norm"] *= np.choose(rows["seed"], [4, 2, 1])
    found = alignment(rows, "relative_norm", log=True)
    assert found.workers.mean.tolist() == pytest.approx([2, 4, 6])
    curve = found.workers
    assert ((curve.mean + curve.above) * (curve.mean - curve.below)).tolist() == pytest.approx(
        [4, 16, 36]
    )


def test_two_seeds_have_no_interval():
    found = alignment(aligned(seeds=2), "cosine", log=False)
    assert np.isnan([found.workers.below, found.workers.above]).all()


def test_the_trained_v_is_that_at_scale_1():
    assert trained_V(aligned()) == pytest.approx(2**0.5)
    assert math.isnan(trained_V(aligned(diverged=(0, 1))))


def test_runs_of_one_seed_are_refused():
    ((case, part),) = groups(aligned())
    assert case == ("digits", "gossip", "ring")
    assert len(part) == len(aligned())
    with pytest.raises(UserError, match="dataset, method, topology and seed alone.* r0, r1;"):
        groups(aligned().assign(seed=0))
