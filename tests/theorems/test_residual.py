import math

import pytest
import torch

from ngo.theorems.residual import residual

TWO = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
APART = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)


def test_two_workers_halve_their_distance_with_a_quarter():
    left = residual(APART, TWO, 1.0, 0.5, 20)
    assert left == pytest.approx(0.25**19, abs=0)  # V from round 19 on


def test_what_overflows_is_infinite_and_not_zero():
    assert residual(APART, TWO, 1.0, 1e200, 20) == math.inf
