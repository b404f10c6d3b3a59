import pytest
import torch
from compiled_pulls import check_pulls
from courses import check_course, course
from stepping import Stepping, ring_matrix, states


@pytest.mark.parametrize(
    ("p", "gamma"), [(0.5, 0.3), (0.5, 3.0), (0.75, 0.3), (0.75, 1.0), (0.9, 1.0), (0.9, 3.0)]
)
@pytest.mark.parametrize("topology", ["ring", "random_matching"])
def test_v_never_rises_the_mean_stays_and_v_reaches_rounding(topology, p, gamma):
    check_course(*course("capped", topology, 140, p=p, gamma=gamma, cap=1.0))


@pytest.mark.parametrize("p", [0.5, 0.75])
def test_the_step_without_a_cap_stays_at_its_chatter(p):
    _, _, V = course("power", "ring", 140, p=p, gamma=1.0)
    assert V[-50:].min() > 1e-3


@pytest.mark.parametrize(("cap", "p"), [(1.0, 0.5), (0.4, 0.8)])
def test_each_entry_of_a_pull_is_the_shorter_one(cap, p):
    """Worker by worker: W_ij z min(cap, γ|z|^(2p − 2))."""
    X, _ = states()
    W, expected = ring_matrix(), X.clone()
    for i in range(5):
        for j in range(5):
            if i != j:
                z = X[j] - X[i]
                expected[i] += W[i, j] * z * (0.3 * z.abs() ** (2 * p - 2)).clamp(max=cap)
    stepping = Stepping("ngo", X, W, coupling="capped", p=p, gamma=0.3, cap=cap)
    stepping.advance()
    assert torch.allclose(stepping.X, expected, rtol=0, atol=1e-13)


def test_a_cap_that_is_not_reached_changes_nothing():
    X, _ = states()
    plain, capped = (
        Stepping("ngo", X, ring_matrix(), coupling=coupling, p=0.75, gamma=0.01, cap=1e9)
        for coupling in ("power", "capped")
    )
    plain.advance(), capped.advance()
    assert torch.allclose(plain.X, capped.X, rtol=1e-12)


@pytest.mark.parametrize("weight", [0.3, 1e-6])
@pytest.mark.parametrize("p", [0.25, 0.5, 0.503, 0.6, 0.9, 1.5])
def test_compiled_pulls_are_those_of_the_equation(p, weight):
    corner = (0.2 / 0.7) ** (1 / (2 - 2 * p))
    check_pulls("capped", corner, weight, 0.2, p=p, cap=0.7)
