"""Estimates and choices of signs, and their slow references."""

import math
from itertools import product

import numpy as np
import pytest

from verdicts.statistics.samples import DRAWS, SignFlips, estimate


def upper_tail(values, draws=DRAWS):
    return SignFlips(values, np.ones(len(values)), draws).tail(0.0, 1)


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


@pytest.mark.parametrize("count", [1, 2, 5, 8, 11])
def test_every_choice_of_signs_is_counted(count):
    values = np.random.default_rng(count).normal(0.3, 1, count)
    sums = [np.dot(signs, values) for signs in product((1, -1), repeat=count)]
    expected = np.mean([each >= values.sum() - 1e-9 for each in sums])
    assert upper_tail(values) == pytest.approx(expected, abs=1e-15)


def test_many_values_are_sampled_with_a_fixed_stream():
    values = np.random.default_rng(0).normal(0.4, 1, 17)
    exact, sampled = upper_tail(values), upper_tail(values, 2**16)
    assert sampled == upper_tail(values, 2**16)
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 2**16))
