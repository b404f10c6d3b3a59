"""The exact sign-flip test."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import wilcoxon

from verdicts.statistics import sign_flip
from verdicts.statistics.sign_flip import upper_tail


@pytest.mark.parametrize("count", [1, 2, 5, 8, 11])
def test_every_choice_of_signs_is_counted(count):
    values = np.random.default_rng(count).normal(0.3, 1, count)
    sums = [np.dot(signs, values) for signs in product((1, -1), repeat=count)]
    expected = np.mean([each >= values.sum() - 1e-9 for each in sums])
    assert upper_tail(values) == pytest.approx(expected, abs=1e-15)


def test_ties_count_as_at_least_as_large():
    assert upper_tail(np.array([0.1, 0.1, 0.1])) == 1 / 8
    assert upper_tail(np.array([0.3, -0.1, -0.2])) == pytest.approx(5 / 8)
    assert upper_tail(np.zeros(4)) == 1


def test_the_signs_of_ranks_give_wilcoxons_test():
    ranks = np.array([1, -2, 3, 4, -5, 6, 7, 8, 9.0])
    expected = wilcoxon(ranks, alternative="greater", method="exact").pvalue
    assert upper_tail(ranks) == pytest.approx(expected)


def test_many_values_are_sampled_with_a_fixed_stream(monkeypatch):
    values = np.random.default_rng(0).normal(0.4, 1, 24)
    exact = upper_tail(values)
    monkeypatch.setattr(sign_flip, "EXACT", 20)
    sampled = upper_tail(values)
    assert sampled == upper_tail(values)
    assert sampled != exact
    error = np.sqrt(exact * (1 - exact) / sign_flip.DRAWS)
    assert sampled == pytest.approx(exact, abs=5 * error)


def test_forty_values_are_still_exact():
    assert upper_tail(np.full(40, 0.1)) == 2.0**-40
