"""Holm's correction."""

import math

import pytest

from verdicts.statistics.judgement import adjusted


def test_p_values_are_multiplied_by_the_tests_that_remain():
    assert adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert adjusted([0.5, 0.6]) == [1, 1]
    assert adjusted([]) == []


def test_what_was_not_tested_does_not_count():
    found = adjusted([math.nan, 0.01, math.nan, 0.02])
    assert found[1::2] == pytest.approx([0.02, 0.02])
    assert math.isnan(found[0])
    assert math.isnan(found[2])
