import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ngo.gossip.gossip_step import exponent, gossip_step, phi


def test_phi_at_known_points():
    z = torch.tensor([-4.0, -1.0, 0.0, 1.0, 4.0], dtype=torch.float64)
    assert phi(z, 1).tolist() == z.tolist()
    assert phi(z, 0.5).tolist() == [-1, -1, 0, 1, 1]
    assert phi(z, 0.75).tolist() == pytest.approx([-2, -1, 0, 1, 2])
    assert phi(z, 2).tolist() == [-64, -1, 0, 1, 64]


@given(z=st.floats(-1e6, 1e6), p=st.floats(0.5, 3))
def test_phi_is_odd(z, p):
    value = torch.tensor([z], dtype=torch.float64)
    assert phi(-value, p).item() == -phi(value, p).item()


@pytest.mark.parametrize("p", [0, -1, math.nan])
def test_phi_needs_p_above_0(p):
    with pytest.raises(ValueError, match="above 0"):
        phi(torch.ones(1), p)
    with pytest.raises(ValueError, match="above 0"):
        exponent(p)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [0.5, 0.6, 0.75, 0.9, 1, 1.5, 2])
def test_phi_and_the_pulls_of_a_step_are_right_for_extreme_numbers(p, dtype):
    """All magnitudes of float32, 0, infinity and NaN, against Python's own powers."""
    sizes = torch.linspace(-149, 127.9, 2001, dtype=torch.float64).exp2().tolist()
    z = torch.tensor([*sizes, 0.0, math.inf, math.nan]).to(dtype)
    z = torch.cat([z, -z])

    def power(value):
        return math.copysign(abs(value) ** (2 * p - 1) if value else 0, value)

    expected = torch.tensor(list(map(power, z.tolist())), dtype=torch.float64).to(dtype)
    expected[z.isnan()] = math.nan  # at p = 1/2, Python's is 1
    how = {"rtol": 2e-5, "atol": 2.0**-126, "equal_nan": True}
    assert torch.allclose(phi(z, p), expected, **how)
    at = torch.stack([torch.zeros_like(z), z])
    W = torch.tensor([[0, 1], [1, 0]], dtype=torch.float64)
    if p != 1:  # a matrix product, in which infinity times 0 is NaN
        new = gossip_step(torch.zeros_like(at), W, 1.0, p, at=at)
        assert torch.allclose(new[0], expected, **how)
        assert torch.allclose(new[1], -expected, **how)
