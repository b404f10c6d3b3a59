"""Rounding errors of float32 do not add up over the steps of a method."""

import pytest
import torch
from stepping import Stepping

from ngo.common.seeding import torch_stream
from ngo.gossip.method import METHODS
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import chain, complete

N, D = 10, 4
TOGETHER = [name for name, entry in METHODS.items() if entry.arrivals != "pair"]


def after(method, dtype, steps):
    """The workers' states after ``steps`` steps on quadratics, each with a minimum of its own."""
    stream = torch_stream(0, "quadratics")
    best, curvature = torch.randn(2, N, D, generator=stream, dtype=torch.float64).to(dtype)
    best, curvature = 1 + 2 * best, 1 + 0.2 * curvature
    W = mixing_matrix((chain if METHODS[method].graph == "tree" else complete)(N))
    X = torch.zeros(N, D, dtype=dtype)
    stepping, seen = Stepping(method, X, W, lr=0.05, gamma=0.5, p=1.0, local_steps=2), None
    for t in range(1, steps + 1):
        stepping.advance(curvature * (stepping.X - best))
        state = torch.cat(
            [matrix.flatten() for matrix in (stepping.X, *stepping.matrices.values())]
        )
        if t & (t - 1) == 0:
            seen = state
        elif method != "proxskip" and torch.equal(state, seen):
            break  # what follows is the same again: only ProxSkip's steps depend on their number
    return stepping.X.double()


@pytest.mark.slow
@pytest.mark.parametrize("method", TOGETHER)
def test_a_long_run_in_float32_does_not_drift(method):
    """Float64 has reached its fixed point in a few steps. On this graph no row's weights add up."""
    exact, actual = after(method, torch.float64, 1000), after(method, torch.float32, 30_000)
    assert torch.allclose(actual, exact, rtol=0, atol=1e-4)
    assert torch.allclose(actual.mean(0), exact.mean(0), rtol=0, atol=3e-5)
