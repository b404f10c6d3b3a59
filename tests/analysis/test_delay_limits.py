"""The delay theorem's limit for trajectories."""

import math

import pytest
from made_up_speed import trajectories

from ngo.analysis.delay_limits import delay_limit_in_rounds


def test_the_limit_of_the_delay_is_that_of_the_graph():
    delayed = trajectories((1.0,), (0,), rounds=1)
    # A ring's λ_n is (1/3)(2 − 2 cos π) = 4/3 for even n, a complete graph's 1.
    assert delay_limit_in_rounds(delayed) == pytest.approx(math.pi / (2 * 4 / 3) / 0.02)
    complete = delayed.assign(topology="complete")
    assert delay_limit_in_rounds(complete) == pytest.approx(math.pi / 0.04)
    assert delay_limit_in_rounds(delayed.assign(topology="random")) == math.inf
