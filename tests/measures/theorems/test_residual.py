import math

import pytest
import torch

from ngo.gossip.consensus import synchronization_index
from ngo.measures.theorems.residual import residual, unit_spread

TWO = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
APART = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)


def test_two_workers_halve_their_distance_with_a_quarter():
    assert residual(APART, TWO, 1.0, 0.5, 20) == pytest.approx(
        0.25**19, abs=0
    )  # V from round 19 on


def test_what_overflows_is_infinite_and_not_zero():
    assert residual(APART, TWO, 1.0, 1e200, 20) == math.inf


def test_a_start_of_unit_spread_has_v_equal_to_n():
    X = unit_spread(5, torch.Generator().manual_seed(0))
    assert float(X.sum()) == pytest.approx(0, abs=1e-12)
    assert float(synchronization_index(X)) == pytest.approx(5)
