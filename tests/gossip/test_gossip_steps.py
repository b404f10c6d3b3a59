"""φ_p, and the gossip step."""

import itertools
import math
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stepping import fields
from torch.utils._python_dispatch import TorchDispatchMode

from ngo.common.registries import COUPLINGS, DECLARED, TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip import gossip_step as steps
from ngo.gossip.exchange import Network
from ngo.gossip.gossip_step import exponent, gossip_step, phi
from ngo.gossip.mixing_matrix import MixingMatrix, laplacian, mixing_matrix
from ngo.gossip.schedule import Mixing
from ngo.gossip.topologies.varying import random_graph
from ngo.native import threads

SEEDS = st.integers(0, 1000)
P = st.sampled_from([0.5, 0.6, 0.75, 0.9, 1, 1.5, 2])
DEFAULTS = {name: option.default for name, option in DECLARED.items()}
OPTIONS = fields(**{**DEFAULTS, "u": 0.1, "seed": 0, "clip": 2.0})
# Those with steps that all workers take together.
NAMES = sorted(name for name, entry in TOPOLOGIES.items() if "graph" not in entry.fields)


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
    at, new = torch.stack([torch.zeros_like(z), z]), [phi(z, p)]
    W = torch.tensor([[0, 1], [1, 0]], dtype=torch.float64)
    if p != 1:  # a matrix product, in which infinity times 0 is NaN
        pulled = gossip_step(torch.zeros_like(at), W, 1.0, p, at=at)
        new += [pulled[0], -pulled[1]]
    for each in new:
        assert torch.allclose(each, expected, rtol=2e-5, atol=2.0**-126, equal_nan=True)


def naive_step(X, W, gamma, p):
    """The equation, term by term."""
    new = X.clone()
    for i, j in itertools.permutations(range(len(X)), 2):
        z = X[j] - X[i]
        new[i] += gamma * W[i, j].item() * z.sign() * z.abs() ** (2 * p - 1)
    return new


def random_weights(n, u, seed):
    return mixing_matrix(random_graph(n, u, torch_stream(seed, "weights")))


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 9), st.integers(1, 40), st.floats(0.05, 1), P, st.floats(0.01, 1), SEEDS)
def test_step_equals_the_equation_and_conserves_the_mean(n, d, u, p, gamma, seed):
    """Also of another state Y, then X + (step(Y) − Y)."""
    stream = torch_stream(seed, "X")
    X, Y = torch.randn(2, n, d, generator=stream, dtype=torch.float64)
    W = random_weights(n, u, seed)
    new = gossip_step(X, W, gamma, p)
    assert torch.allclose(new, naive_step(X, W, gamma, p), atol=1e-12)
    assert torch.allclose(new.mean(0), X.mean(0), atol=1e-13)
    assert torch.allclose(gossip_step(X, W, gamma, p, at=X), new, atol=1e-14)
    stale = gossip_step(X, W, gamma, p, at=Y)
    assert torch.allclose(stale, X + naive_step(Y, W, gamma, p) - Y, atol=1e-12)


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


# Steps along edges are those of dense matrices, for every topology, coupling and method.


@cache
def matrix(name, n):
    return Mixing(name, n, OPTIONS, torch_stream(0, "graphs")).at(0)


def dense_pulls(W, at, pull):
    """Σ_j of the pulls on each worker, in all n² places."""
    pulls = at[None] - at[:, None]
    edges = W.clone().fill_diagonal_(0) != 0
    pulls[edges] = pull(pulls[edges], W[edges][:, None])
    pulls[~edges] = 0
    return pulls.sum(1)


@pytest.mark.parametrize("n", [16, 256])
@pytest.mark.parametrize("name", NAMES)
def test_linear_steps_and_products(name, n):
    X, Y = torch.randn(2, n, 7, generator=torch_stream(0, "X"))
    W = matrix(name, n)
    dense = W.dense()
    mixed, network = X.clone(), Network()
    network.set_matrix(W)
    network.mix(mixed)
    assert torch.allclose(mixed.double(), dense @ X.double(), rtol=0, atol=1e-5)
    assert network.messages == int(dense.count_nonzero() - dense.diagonal().count_nonzero())
    if not TOPOLOGIES[name].directed:
        for at in (X, Y):
            expected = X.double() - 0.4 * laplacian(dense) @ at.double()
            for state in (X, X.double()):
                seen = state if at is X else at.to(state)
                new = gossip_step(state, W, 0.4, 1, at=seen)
                assert torch.allclose(new.double(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if not TOPOLOGIES[name].directed])
@pytest.mark.parametrize("coupling", [name for name in sorted(COUPLINGS) if COUPLINGS[name].pull])
def test_couplings(coupling, name):
    n, W = 64, matrix(name, 64)
    X = torch.randn(n, 5, generator=torch_stream(0, "X"))
    entry = COUPLINGS[coupling]

    def pull(z, weights):
        return entry.pull(z, weights, 0.3, OPTIONS)

    expected = X.double() + dense_pulls(W.dense(), X.double(), pull)
    for state in (X, X.double()):
        new = entry.step(state, W, 0.3, OPTIONS)
        assert torch.allclose(new.double(), expected, rtol=0, atol=2e-5)


class Largest(TorchDispatchMode):
    """``numel`` is the number of elements of the largest tensor made in the block."""

    numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.numel = max(self.numel, out.numel())
        return out


def test_a_large_graph_is_never_dense():
    """A torus of 10,000 workers: neither its matrix nor a step has n² elements."""
    n, X = 10_000, torch.randn(10_000, 5, generator=torch_stream(0, "X"))
    with Largest() as largest:
        W = matrix("torus", n)
        for state in (X, X.double()):
            for p in (0.9, 1):
                gossip_step(state, W, 0.4, p)
            COUPLINGS["capped"].step(state, W, 0.4, OPTIONS)
            COUPLINGS["clipped"].step(state, W, 0.4, OPTIONS)
    assert largest.numel <= 8 * n * 5
    assert isinstance(W, MixingMatrix)
