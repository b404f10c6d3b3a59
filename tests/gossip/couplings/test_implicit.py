import math

import pytest
import torch
from compiled_pulls import check_pulls
from courses import check_course, course
from stepping import Stepping, states

from ngo.gossip.couplings.implicit import solved
from ngo.gossip.topology import TOPOLOGIES


@pytest.mark.parametrize(
    ("p", "gamma"), [(0.5, 0.3), (0.5, 3.0), (0.75, 0.3), (0.75, 1.0), (0.9, 1.0), (0.9, 3.0)]
)
@pytest.mark.parametrize("topology", ["alternating_matching", "random_matching"])
def test_v_never_rises_the_mean_stays_and_v_reaches_rounding(topology, p, gamma):
    check_course(*course("implicit", topology, 140, p=p, gamma=gamma))


@pytest.mark.parametrize("q", [0.002, 0.02, 0.2, 0.5, 0.8, 1])
def test_the_equation_is_solved(q):
    a = torch.tensor([1e-12, 1e-6, 1e-3, 0.1, 0.7, 1, 5, 100, 1e5], dtype=torch.float64)
    for c in (1e-3, 0.1, 1.0, 20.0):
        v = solved(a[None], torch.tensor([[c]], dtype=torch.float64), q)[0]
        assert (v >= 0).all()
        assert torch.allclose(v ** (1 / q) + c * v, a, rtol=1e-12, atol=0), c


@pytest.mark.parametrize("q", [0, 0.1, 1])
def test_a_difference_of_0_stays(q):
    c = torch.tensor([[0.3]], dtype=torch.float64)
    assert (solved(torch.zeros(1, 3, dtype=torch.float64), c, q) == 0).all()


@pytest.mark.parametrize("p", [0.5, 0.75, 1.0])
def test_the_difference_after_the_step(p):
    """z⁺ + c φ_p(z⁺) = z with c = 2γ W_ij: soft thresholding, a quadratic equation, z/(1 + c)."""
    X, _ = states(n=4)
    W = TOPOLOGIES["alternating_matching"].matrix(4, t=0)
    stepping = Stepping("ngo", X, W, coupling="implicit", p=p, gamma=0.4)
    stepping.advance()
    before, after = (rows[1::2] - rows[::2] for rows in (X, stepping.X))
    a, c = before.abs(), 0.4
    expected = {
        0.5: (a - c).clamp(min=0),
        0.75: (((c * c + 4 * a).sqrt() - c) / 2).square(),
        1.0: a / (1 + c),
    }
    assert torch.allclose(after, before.sign() * expected[p], rtol=0, atol=1e-14)
    assert (after.abs() < 1e-14).any() == (p == 0.5)


def test_two_workers_with_the_sign_are_done_after_finitely_many_steps():
    """|z| falls by 2γ W_12 in each step; T* of the continuous flow is |z| / (2 W_12)."""
    X = torch.tensor([[0.0], [10.0]], dtype=torch.float64)
    W = torch.full((2, 2), 0.5, dtype=torch.float64)
    stepping = Stepping("ngo", X, W, coupling="implicit", p=0.5, gamma=0.3)
    taken = 0
    while stepping.X[0] != stepping.X[1]:
        stepping.advance()
        taken += 1
    assert taken == math.ceil(10 / 0.3)
    assert torch.allclose(stepping.X, torch.full((2, 1), 5.0, dtype=torch.float64))


@pytest.mark.parametrize("weight", [0.5, 1e-9, 1e3])
@pytest.mark.parametrize("p", [0.5, 0.503, 0.51, 0.6, 0.75, 0.9, 0.99, 1.0])
def test_compiled_pulls_are_those_of_the_equation(p, weight):
    """The corner, where both limits of the pull are equal, is at z^(2 − 2p) = 2γ W_ij."""
    corner = (0.4 * weight) ** (1 / (2 - 2 * p)) if p < 1 else 1.0
    check_pulls("implicit", corner, weight, 0.2, p=p)
