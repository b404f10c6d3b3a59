import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_sizes import Largest
from weighted import naive_step, random_weights

from ngo.common.seeding import torch_stream
from ngo.gossip import gossip_step as steps
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import metropolis_hastings, mixing_matrix
from ngo.gossip.topologies.static import complete
from ngo.native import pool, shared_work


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


@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.parametrize("p", [0.9, 1])
def test_memory_stays_linear_in_the_state(p, stale):
    """Never [n, n, d]: no tensor larger than the state, at n = 32 on the complete graph."""
    X = torch.randn(32, 10_000, generator=torch_stream(0, "X"))
    W = mixing_matrix(complete(32))
    with Largest() as largest:
        gossip_step(X, W, 0.1, p, at=X if stale else None)
    assert largest.numel == X.numel()


@pytest.mark.parametrize("p", [0.5, 0.8, 1])
@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_in_place_and_on_any_threads_is_the_same_bytes(monkeypatch, p, stale, dtype):
    generator = torch_stream(0, "X")
    X, past = torch.randn(2, 7, 9999, generator=generator, dtype=dtype)
    W = random_weights(7, 0.5, 1)
    monkeypatch.setattr(steps, "BLOCK", 7000)  # 10 blocks
    monkeypatch.setattr(shared_work, "SHARE", 7000)
    at = past if stale else None
    expected = gossip_step(X, W, 0.1, p, at=at)
    for count in (1, 2, 5):
        mine = X.clone()
        found = gossip_step(mine, W, 0.1, p, at=at, out=mine, spread=pool.threads(count))
        assert found is mine
        assert torch.equal(mine, expected)


def test_an_isolated_worker_keeps_its_state():
    X = torch.randn(4, 10, generator=torch_stream(0, "X"))
    W = metropolis_hastings(4, [(0, 1)])
    for p in (0.5, 0.9, 1):
        assert torch.equal(gossip_step(X, W, 0.5, p)[2:], X[2:])
    no_edges = metropolis_hastings(4, [])
    assert torch.equal(gossip_step(X, no_edges, 0.5, 0.9), X)
