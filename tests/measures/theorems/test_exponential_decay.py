import numpy as np
import pytest
from small_theory import small_parts

from ngo.measures.theorems.exponential_decay import distance_from_line

t = np.linspace(0, 1, 200)
fall = np.linspace(0, -27, 200)


def test_linear_coupling_is_straight(tmp_path):
    assert small_parts(tmp_path)["logs"]["measured"].max() < 1e-3


@pytest.mark.parametrize(
    "times",
    [1 - np.exp(fall / 4), np.exp(-fall / 4) - 1],
    ids=["finite time", "algebraic"],
)
def test_what_is_not_exponential_is_not_straight(times):
    assert distance_from_line(times, fall) > 0.05


def test_an_exponential_is_straight_after_a_fast_start():
    assert distance_from_line(t, np.log(np.exp(-30 * t) + np.exp(-200 * t))) < 1e-3
