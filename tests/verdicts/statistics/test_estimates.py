"""Means over seeds with confidence intervals."""

import math

import numpy as np
import pytest

from verdicts.statistics.estimates import estimate


def test_estimate_against_a_t_table():
    found = estimate(np.array([1.0, 2.0, 3.0]))
    assert (found.mean, found.std, found.count) == (2, 1, 3)
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)  # t(0.975, 2)


@pytest.mark.parametrize(("values", "mean", "std"), [([4.0], 4, math.nan), ([1.0, 3.0], 2, 2**0.5)])
def test_fewer_than_three_seeds_have_no_interval(values, mean, std):
    found = estimate(np.array(values))
    assert found.mean == mean
    assert found.std == pytest.approx(std, nan_ok=True)
    assert math.isnan(found.half_width)


def test_a_diverged_seed_is_not_left_out_of_the_mean():
    assert math.isnan(estimate(np.array([1.0, math.nan, 3.0])).mean)
