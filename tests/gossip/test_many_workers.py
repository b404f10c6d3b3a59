"""Steps along edges are those of dense matrices, for every topology, coupling and method."""

from functools import cache

import pytest
import torch
from stepping import fields
from tensor_sizes import Largest

from ngo.common.fields import DECLARED
from ngo.common.seeding import torch_stream
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.exchange import Network
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.spectrum import laplacian
from ngo.gossip.topology import TOPOLOGIES, Mixing

DEFAULTS = {name: option.default for name, option in DECLARED.items()}
OPTIONS = fields(**{**DEFAULTS, "u": 0.1, "seed": 0, "clip": 2.0})
# Those with steps that all workers take together.
NAMES = sorted(name for name, entry in TOPOLOGIES.items() if "graph" not in entry.fields)


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
