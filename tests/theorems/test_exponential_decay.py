import numpy as np
import pytest
from small_theory import asked, holds, small_rows

from ngo.theorems.exponential_decay import distance_from_line

t = np.linspace(0, 1, 200)
fall = np.linspace(0, -27, 200)


def test_linear_coupling_is_straight():
    assert small_rows("logs")["measured"].max() < 1e-3


@pytest.mark.parametrize(
    "times",
    [1 - np.exp(fall / 4), np.exp(-fall / 4) - 1],
    ids=["finite time", "algebraic"],
)
def test_what_is_not_exponential_is_not_straight(times):
    assert distance_from_line(times, fall) > 0.05


def test_an_exponential_is_straight_after_a_fast_start():
    assert distance_from_line(t, np.log(np.exp(-30 * t) + np.exp(-200 * t))) < 1e-3


def test_a_bent_line_is_seen():
    assert holds("theory_log_linear", "logs")
    rows = [{"draw": 0, "measured": 1e-5}, {"draw": 0, "measured": 0.06}]
    found = asked("theory_log_linear", "logs", rows)
    assert found["met"].tolist() == [True, False]
