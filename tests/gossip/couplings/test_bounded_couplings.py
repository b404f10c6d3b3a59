"""Couplings whose steps are bounded: what each promises about V, the mean and the consensus."""

import numpy as np
import pytest
import torch
from stepping import Stepping, ring_matrix, states

from ngo.gossip.consensus import synchronization_index
from ngo.gossip.couplings.implicit import solved
from ngo.gossip.topology import Mixing

N = 10


def matrices(topology, steps):
    mixing = Mixing(topology, N, None, torch.Generator().manual_seed(0))
    return [mixing.at(t) for t in range(steps)]


def course(coupling, topology, steps, **values):
    """The states before and after, and V before and after each step."""
    X, _ = states(n=N, d=100)
    X *= 3
    stepping = Stepping("ngo", X, coupling=coupling, **values)
    V = [float(synchronization_index(X))]
    for W in matrices(topology, steps):
        stepping.W = W
        stepping.advance()
        V.append(float(synchronization_index(stepping.X)))
    return X, stepping.X, np.array(V)


CASES = [("capped", "ring"), ("capped", "random_matching"), ("implicit", "alternating_matching"),
         ("implicit", "random_matching")]  # fmt: skip


@pytest.mark.parametrize("gamma", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("p", [0.5, 0.6, 0.75, 0.9])
@pytest.mark.parametrize(("coupling", "topology"), CASES)
def test_v_never_rises_the_mean_stays_and_v_reaches_rounding(coupling, topology, p, gamma):
    before, after, V = course(coupling, topology, 1500, p=p, gamma=gamma, cap=1.0)
    assert (np.diff(V) <= 1e-12 * V[0]).all()
    assert torch.allclose(before.mean(0), after.mean(0), atol=1e-12)
    assert V[-1] < 1e-25


@pytest.mark.parametrize("p", [0.5, 0.6, 0.75])
def test_the_explicit_step_stays_at_its_chatter(p):
    _, _, V = course("power", "ring", 1500, p=p, gamma=1.0)
    assert V[-1] > 1e-3


@pytest.mark.parametrize("q", [0, 0.2, 0.5, 0.8, 1, 1.5, 3])
def test_the_implicit_equation_is_solved(q):
    a = torch.tensor([0, 1e-12, 1e-6, 1e-3, 0.1, 0.7, 1, 5, 100, 1e5], dtype=torch.float64)
    for c in (1e-3, 0.1, 1.0, 20.0):
        u = solved(a[None], torch.tensor([[c]], dtype=torch.float64), q)[0]
        assert (u >= 0).all()
        if q == 0:
            assert torch.equal(u, (a - c).clamp(min=0))
        else:
            assert torch.allclose(u + c * u**q, a, rtol=1e-12, atol=0), c


def test_two_workers_with_the_sign_are_done_after_finitely_many_implicit_steps():
    """|z| falls by 2γ W_12 in each step; T* of the continuous flow is |z| / (2 W_12)."""
    X = torch.tensor([[0.0], [10.0]], dtype=torch.float64)
    W = torch.full((2, 2), 0.5, dtype=torch.float64)
    stepping = Stepping("ngo", X, W, coupling="implicit", p=0.5, gamma=0.3)
    taken = 0
    while stepping.X[0] != stepping.X[1]:
        stepping.advance()
        taken += 1
    assert taken == int(np.ceil(10 / 0.3))
    assert torch.allclose(stepping.X, torch.full((2, 1), 5.0, dtype=torch.float64))


def test_small_differences_are_pulled_as_in_the_paper_by_every_cap_that_is_not_reached():
    X, _ = states()
    far = 10 * X
    plain = Stepping("ngo", far, ring_matrix(), p=0.75, gamma=0.01)
    bound = Stepping("ngo", far, ring_matrix(), coupling="capped", p=0.75, gamma=0.01, cap=1e9)
    plain.advance(), bound.advance()
    assert torch.allclose(plain.X, bound.X, rtol=1e-12)


def test_clipped_gossip_is_linear_for_small_differences_and_bounded_for_large_ones():
    X, _ = states()
    linear = Stepping("gossip", X, ring_matrix(), p=1.0)
    clipped = Stepping("ngo", X, ring_matrix(), coupling="clipped", clip=1e3)
    linear.advance(), clipped.advance()
    assert torch.allclose(linear.X, clipped.X)
    X[0] += 1e6
    clipped = Stepping("ngo", X, ring_matrix(), coupling="clipped", clip=0.5)
    clipped.advance()
    assert (clipped.X - X).abs().max() <= 0.2 * 0.5 * 2 / 3 + 1e-9


def test_two_exponents_are_their_sum():
    X, _ = states()
    values = {"near_factor": 2.0, "near_exponent": 0.4, "far_factor": 3.0, "far_exponent": 1.6}
    found = Stepping("ngo", X, ring_matrix(), coupling="fixed_time", **values)
    found.advance()
    parts = [Stepping("ngo", X, ring_matrix(), p=(e + 1) / 2) for e in (0.4, 1.6)]
    for part in parts:
        part.advance()
    expected = X + 2 * (parts[0].X - X) + 3 * (parts[1].X - X)
    assert torch.allclose(found.X, expected)
