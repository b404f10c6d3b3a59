"""φ_p, and the gossip step."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from weighted import naive_step, random_weights

from ngo.common.seeding import torch_stream
from ngo.gossip import gossip_step as steps
from ngo.gossip.gossip_step import exponent, gossip_step, phi
from ngo.native import threads


def test_phi_at_known_points():
    z = torch.tensor([-4.0, -1.0, 0.0, 1.0, 4.0], dtype=torch.float64)
    assert phi(z, 1).tolist() == z.tolist()
    assert phi(z, 0.5).tolist() == [-1, -1, 0, 1, 1]
    assert phi(z, 0.75).tolist() == pytest.approx([-2, -1, 0, 1, 2])
    assert phi(z, 2).tolist() == [-64, -1, 0, 1, 64]


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


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(2, 9),
    d=st.integers(1, 40),
    u=st.floats(0.05, 1),
    p=st.sampled_from([0.5, 0.6, 0.75, 0.9, 1, 1.5, 2]),
    gamma=st.floats(0.01, 1),
    seed=st.integers(0, 1000),
)
def test_step_equals_the_equation_and_conserves_the_mean(n, d, u, p, gamma, seed):
    X = torch.randn(n, d, generator=torch_stream(seed, "X"), dtype=torch.float64)
    W = random_weights(n, u, seed)
    new = gossip_step(X, W, gamma, p)
    assert torch.allclose(new, naive_step(X, W, gamma, p), atol=1e-12)
    assert torch.allclose(new.mean(0), X.mean(0), atol=1e-13)


@pytest.mark.parametrize("p", [0.5, 0.9, 1])
def test_differences_can_be_those_of_another_state(p):
    """X + (step(Y) − Y) for a stale Y; the plain step if the other state is the own one."""
    X, Y = (torch.randn(6, 50, generator=torch_stream(k, "X"), dtype=torch.float64) for k in (0, 1))
    W = random_weights(6, 0.5, 1)
    stale = gossip_step(X, W, 0.3, p, at=Y)
    assert torch.allclose(stale, X + naive_step(Y, W, 0.3, p) - Y, atol=1e-12)
    assert torch.allclose(gossip_step(X, W, 0.3, p, at=X), gossip_step(X, W, 0.3, p), atol=1e-14)


@pytest.mark.parametrize("p", [0.5, 0.8, 1])
@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_in_place_and_on_any_threads_is_the_same_bytes(monkeypatch, p, stale, dtype):
    generator = torch_stream(0, "X")
    X, past = torch.randn(2, 7, 9999, generator=generator, dtype=dtype)
    W = random_weights(7, 0.5, 1)
    monkeypatch.setattr(steps, "BLOCK", 7000)  # 10 blocks
    monkeypatch.setattr(threads, "SHARE", 7000)
    at = past if stale else None
    expected = gossip_step(X, W, 0.1, p, at=at)
    for count in (1, 2, 5):
        mine = X.clone()
        actual = gossip_step(mine, W, 0.1, p, at=at, out=mine, spread=threads.threads(count))
        assert actual is mine
        assert torch.equal(mine, expected)
