import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ngo import coupling, graphs, pool
from ngo.coupling import gossip_step, phi
from ngo.pool import one_intra_op_thread
from ngo.seeding import torch_stream


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with one_intra_op_thread():
        yield


def naive_step(X, W, gamma, p):
    """The equation, term by term."""
    new = X.clone()
    for i in range(len(X)):
        for j in range(len(X)):
            if i != j:
                z = X[j] - X[i]
                new[i] += gamma * W[i, j].item() * z.sign() * z.abs() ** (2 * p - 1)
    return new


def random_weights(n, u, seed):
    return graphs.mixing_matrix(graphs.random_graph(n, u, torch_stream(seed, "weights")))


def test_phi_at_known_points():
    z = torch.tensor([-4.0, -1.0, 0.0, 1.0, 4.0], dtype=torch.float64)
    assert phi(z, 1).tolist() == z.tolist()
    assert phi(z, 0.5).tolist() == [-1, -1, 0, 1, 1]
    assert phi(z, 0.75).tolist() == pytest.approx([-2, -1, 0, 1, 2])
    assert phi(z, 2).tolist() == [-64, -1, 0, 1, 64]


def test_phi_leaves_its_argument_alone():
    for p in (0.5, 0.9, 1, 2):
        z = torch.tensor([-2.0, 3.0])
        phi(z, p).add_(1)
        assert z.tolist() == [-2, 3]


@given(z=st.floats(-1e6, 1e6), p=st.floats(0.5, 3))
def test_phi_is_odd(z, p):
    value = torch.tensor([z], dtype=torch.float64)
    assert phi(-value, p).item() == -phi(value, p).item()


@pytest.mark.parametrize("p", [0, -1, math.nan])
def test_phi_needs_p_above_0(p):
    with pytest.raises(ValueError, match="above 0"):
        phi(torch.ones(1), p)


def test_phi_below_a_half_is_singular_but_0_at_0():
    z = torch.tensor([-4.0, 0.0, 1.0, 0.25], dtype=torch.float64)
    assert phi(z, 0.25).tolist() == [-0.5, 0, 1, 2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [0.5, 0.6, 0.75, 0.9, 1, 1.5, 2])
def test_phi_and_the_pulls_of_a_step_are_right_at_the_edges(p, dtype):
    """Of every size of a float32, of 0, infinity and NaN, against Python's own powers."""
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
        new = gossip_step(torch.zeros_like(at), W, 1.0, p, at)
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
    """X + (step(Y) − Y) for a stale Y; the step itself where the state is its own."""
    X, Y = (torch.randn(6, 50, generator=torch_stream(k, "X"), dtype=torch.float64) for k in (0, 1))
    W = random_weights(6, 0.5, 1)
    stale = gossip_step(X, W, 0.3, p, at=Y)
    assert torch.allclose(stale, X + naive_step(Y, W, 0.3, p) - Y, atol=1e-12)
    assert torch.allclose(gossip_step(X, W, 0.3, p, at=X), gossip_step(X, W, 0.3, p), atol=1e-14)


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 16])
@pytest.mark.parametrize("p", [0.5, 0.9])
def test_the_block_size_changes_nothing(monkeypatch, block, p):
    """Of the compiled form, which is for float32 only, and of torch's."""
    W = random_weights(6, 0.5, 1)
    monkeypatch.setattr(coupling, "COLUMNS", 1)
    monkeypatch.setattr(coupling, "SHARE", block)
    monkeypatch.setattr(coupling, "BLOCK", block)
    for dtype in (torch.float32, torch.float64):
        X = torch.randn(6, 50, generator=torch_stream(0, "X"), dtype=dtype)
        assert torch.allclose(gossip_step(X, W, 0.3, p), naive_step(X, W, 0.3, p), atol=1e-6)


@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.parametrize("p", [0.9, 1])
def test_memory_stays_linear_in_the_state(p, stale):
    """Never [n, n, d]: no tensor larger than the state, at n = 32 on the complete graph."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        numel = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor):
                self.numel = max(self.numel, out.numel())
            return out

    X = torch.randn(32, 10_000, generator=torch_stream(0, "X"))
    W = graphs.mixing_matrix(graphs.complete(32))
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
    monkeypatch.setattr(coupling, "COLUMNS", 1000)
    monkeypatch.setattr(coupling, "BLOCK", 7000)  # 10 blocks
    monkeypatch.setattr(coupling, "SHARE", 7000)
    expected = gossip_step(X, W, 0.1, p, at=past if stale else None)
    for count in (1, 2, 5):
        mine = X.clone()
        with pool.using(pool.threads(count)):
            gossip_step(mine, W, 0.1, p, at=past if stale else None, out=mine)
        assert torch.equal(mine, expected)


def test_edges_are_ordered_by_rings():
    """Every edge once, and no worker twice at the same side within a ring."""
    for n in (2, 3, 8, 9):
        for W in (graphs.mixing_matrix(graphs.complete(n)), random_weights(n, 0.4, n)):
            found = []
            for runs, weights in coupling._rings(W.tolist()):
                sides = [], []
                for run in runs:
                    for side, part in zip(sides, (run.i, run.j), strict=True):
                        side += range(part.start, part.stop)
                assert all(len(set(side)) == len(side) == len(weights) for side in sides)
                for i, j, weight in zip(*sides, weights.tolist(), strict=True):
                    assert weight == W[i, j]
                    found.append(frozenset((i, j)))
            edges = W.triu(1).nonzero().tolist()
            assert sorted(map(sorted, found)) == sorted(edges)


def test_an_isolated_worker_keeps_its_state():
    X = torch.randn(4, 10, generator=torch_stream(0, "X"))
    W = graphs.metropolis_hastings(4, [(0, 1)])
    for p in (0.5, 0.9, 1):
        assert torch.equal(gossip_step(X, W, 0.5, p)[2:], X[2:])
    no_edges = graphs.metropolis_hastings(4, [])
    assert torch.equal(gossip_step(X, no_edges, 0.5, 0.9), X)


def test_full_linear_step_on_the_complete_graph_is_the_mean():
    X = torch.randn(10, 100, generator=torch_stream(0, "X"), dtype=torch.float64)
    new = gossip_step(X, graphs.mixing_matrix(graphs.complete(10)), 1.0, 1)
    assert torch.allclose(new, X.mean(0).expand_as(X), atol=1e-14)


@pytest.mark.parametrize("p", [0.6, 0.75, 0.9])
@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0])
def test_two_workers_end_in_the_known_cycle(p, gamma):
    """Near 0 φ_p is infinitely steep: |x₁ − x₂| → (γw)^(1/(2−2p)), and the sign alternates.

    On a cycle z ↦ z − 2γw φ_p(z) = −z, so |z|^(2−2p) = γw.
    """
    W = graphs.mixing_matrix(graphs.ring(2))
    X = torch.tensor([[0.7], [-0.4]], dtype=torch.float64)
    for _ in range(1000):
        X = gossip_step(X, W, gamma, p)
    difference = float(X[0] - X[1])
    after = gossip_step(X, W, gamma, p)
    assert abs(difference) == pytest.approx((gamma * 0.5) ** (1 / (2 - 2 * p)), rel=1e-6)
    assert float(after[0] - after[1]) == pytest.approx(-difference, rel=1e-6)
