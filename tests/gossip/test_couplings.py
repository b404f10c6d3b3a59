"""Each coupling: its pulls by hand, V along its course, and its compiled form."""

import math
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from cases import cases
from stepping import Stepping, mixing_matrix, ring_matrix, states

import ngo
from ngo.common.registries import COUPLINGS, TOPOLOGIES
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.coupling import trimmed_step
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.schedule import Mixing
from ngo.native.threads import fits, in_order

SPECIAL = torch.tensor([0.0, math.inf, -math.inf, math.nan])
DOUBLE = {"dtype": torch.float64}


def pulled(coupling, z, weight, gamma, **fields):
    """The pulls ``[k]`` on a worker at 0, by the compiled step and by the equation in float64."""
    run, W = SimpleNamespace(**fields), torch.tensor([[0.0, weight], [weight, 0.0]]).double()
    at = torch.stack([torch.zeros_like(z), z])
    if not fits(at):
        pytest.skip("nothing is compiled here")
    entry = COUPLINGS[coupling]
    new = entry.step(torch.zeros_like(at), W, gamma, run, at=at)
    assert torch.equal(new[0][new[0].isfinite()], -new[1][new[1].isfinite()])
    weights = torch.full((len(z), 1), weight).double()
    return new[0].double(), entry.pull(z.double()[:, None], weights, gamma, run)[:, 0]


def check_pulls(coupling, corner, weight, gamma, **fields):
    """Relative errors are at most 1e-6; ``corner`` is a z near which the pull changes its form."""
    sizes = 2.0 ** torch.linspace(-149, 127.9, 10_001, dtype=torch.float64)
    near = corner * 2.0 ** torch.linspace(-20, 20, 10_001, dtype=torch.float64)
    sizes = torch.cat([sizes, near[(near > 2.0**-149) & (near < 2.0**127.9)]])
    z = torch.cat([sizes, -sizes]).float()
    actual, expected = pulled(coupling, z, weight, gamma, **fields)
    normal = (expected.abs() > 2.0**-125) & (expected.abs() < 2.0**127.9)
    assert normal.sum() > 10_000
    assert (actual / expected - 1)[normal].abs().max() < 1e-6
    small = expected.abs() <= 2.0**-125
    assert torch.allclose(actual[small], expected[small], rtol=0, atol=2.0**-146)
    actual, _ = pulled(coupling, SPECIAL, weight, gamma, **fields)
    assert actual[0] == 0
    assert actual[1] == -actual[2] >= 0
    assert actual[3].isnan()


def stepped(X, coupling, W=None, **values):
    stepping = Stepping("ngo", X, ring_matrix() if W is None else W, coupling=coupling, **values)
    stepping.advance()
    return stepping.X


def course(coupling, topology, steps, *, n=5, **values):
    """The states ``[n, 7]`` before and after, and V before and after each step."""
    X = 3 * states(n=n)[0]
    mixing = Mixing(topology, n, None, torch.Generator().manual_seed(0))
    stepping, V = Stepping("ngo", X, coupling=coupling, **values), [float(synchronization_index(X))]
    for t in range(steps):
        stepping.W = mixing.at(t)
        stepping.advance()
        V.append(float(synchronization_index(stepping.X)))
    return X, stepping.X, np.array(V)


@pytest.mark.parametrize(("p", "gamma"), [(0.5, 0.3), (0.5, 3.0), (0.75, 1.0), (0.9, 3.0)])
@cases("coupling, topology", ("capped", "ring"), ("implicit", "random_matching"))
def test_v_never_rises_the_mean_stays_and_v_reaches_rounding(coupling, topology, p, gamma):
    before, after, V = course(coupling, topology, 140, p=p, gamma=gamma, cap=1.0)
    assert (np.diff(V) <= 1e-14 * V[0]).all()
    assert torch.allclose(before.mean(0), after.mean(0), rtol=0, atol=1e-13)
    assert V[-1] < 1e-27


@pytest.mark.parametrize(("cap", "p"), [(1.0, 0.5), (0.4, 0.8)])
def test_each_entry_of_a_capped_pull_is_the_shorter_one(cap, p):
    """Worker by worker: W_ij z min(cap, γ|z|^(2p − 2))."""
    X, _ = states()
    W, expected = ring_matrix(), X.clone()
    for i in range(5):
        for j in {*range(5)} - {i}:
            z = X[j] - X[i]
            expected[i] += W[i, j] * z * (0.3 * z.abs() ** (2 * p - 2)).clamp(max=cap)
    assert torch.allclose(stepped(X, "capped", p=p, gamma=0.3, cap=cap), expected, atol=1e-13)
    plain = stepped(X, "power", p=p, gamma=0.01)
    assert torch.allclose(plain, stepped(X, "capped", p=p, gamma=0.01, cap=1e9), rtol=1e-12)


@pytest.mark.parametrize("weight", [0.3, 1e-6])
@pytest.mark.parametrize("p", [0.25, 0.5, 0.503, 0.9, 1.5])
def test_compiled_pulls_of_capped_are_those_of_the_equation(p, weight):
    check_pulls("capped", (0.2 / 0.7) ** (1 / (2 - 2 * p)), weight, 0.2, p=p, cap=0.7)


@pytest.mark.parametrize("weight", [0.5, 1e-9, 1e3])
@pytest.mark.parametrize("p", [0.5, 0.503, 0.6, 0.75, 0.99, 1.0])
def test_compiled_pulls_of_implicit_are_those_of_the_equation(p, weight):
    """The corner, where both limits of the pull are equal, is at z^(2 − 2p) = 2γ W_ij."""
    corner = (0.4 * weight) ** (1 / (2 - 2 * p)) if p < 1 else 1.0
    check_pulls("implicit", corner, weight, 0.2, p=p)


@pytest.mark.parametrize("p", [0.5, 0.75, 1.0])
def test_the_difference_after_an_implicit_step(p):
    """z⁺ + c φ_p(z⁺) = z with c = 2γ W_ij: soft thresholding, a quadratic equation, z/(1 + c)."""
    X, _ = states(n=4)
    W = TOPOLOGIES["alternating_matching"].matrix(4, t=0)
    after = stepped(X, "implicit", W, p=p, gamma=0.4)
    before, after = (rows[1::2] - rows[::2] for rows in (X, after))
    a, c = before.abs(), 0.4
    expected = {
        0.5: (a - c).clamp(min=0),
        0.75: (((c * c + 4 * a).sqrt() - c) / 2).square(),
        1.0: a / (1 + c),
    }
    assert torch.allclose(after, before.sign() * expected[p], rtol=0, atol=1e-14)
    assert (after.abs() < 1e-14).any() == (p == 0.5)


def test_the_pull_of_fixed_time_is_the_sum_of_two_powers():
    """φ_p has the exponent 2p − 1."""
    X, _ = states()
    near, far = (stepped(X, "power", p=(exponent + 1) / 2) - X for exponent in (0.4, 1.6))
    values = {"near_factor": 2.0, "near_exponent": 0.4, "far_factor": 3.0, "far_exponent": 1.6}
    assert torch.allclose(stepped(X, "fixed_time", **values), X + 2 * near + 3 * far)


def test_medians_and_trimmed_means_by_hand():
    """On a ring of four: of (0, 1, 8), (1, 0, 4), (4, 1, 8) and (8, 0, 4); of two, the mean."""
    X = torch.tensor([[0.0], [1.0], [4.0], [8.0]])
    for rows in (X, X.double()):
        for gamma, expected in ((1.0, [1, 1, 4, 4]), (0.5, [0.5, 1, 4, 6])):
            actual = stepped(rows, "median", ring_matrix(4), gamma=gamma)
            assert actual.flatten().tolist() == expected
    two = torch.tensor([[0.0, 2.0], [1.0, 6.0]], **DOUBLE)
    half = torch.full((2, 2), 0.5, **DOUBLE)
    assert stepped(two, "median", half, gamma=1.0).tolist() == [[0.5, 4.0]] * 2
    # Of six values, two or four are trimmed; Metropolis weights of a ring are 1/3 each.
    X = states()[0]
    linear = stepped(X, "power", p=1.0, gamma=0.8)
    assert torch.allclose(stepped(X, "trimmed_mean", trim=0, gamma=0.8), linear, atol=1e-14)
    median = stepped(X, "median", gamma=0.8)
    for trim in (1, 100):  # as many as leave one
        assert torch.equal(stepped(X, "trimmed_mean", trim=trim, gamma=0.8), median)
    full = torch.full((6, 6), 1 / 6, **DOUBLE)
    rows = torch.tensor([[-9.0], [0.0], [1.0], [3.0], [5.0], [70.0]], **DOUBLE)
    for trim, mean in ((1, 9 / 4), (2, 2)):
        actual = stepped(rows, "trimmed_mean", full, trim=trim, gamma=0.8)
        assert torch.allclose(actual, rows + 0.8 * (mean - rows))
    # A star and an isolated worker: neighbourhoods of six, two and one.
    X, Y = states(n=7)
    graph = nx.star_graph(5)
    graph.add_node(6)
    W = MixingMatrix.of(mixing_matrix(graph))
    actual = trimmed_step(X, W, 0.5, 2, at=Y, out=torch.empty_like(X), spread=in_order)
    hub = Y[:6].sort(0).values[2:4].mean(0)
    assert torch.allclose(actual[0], X[0] + 0.5 * (hub - Y[0]))
    for leaf in range(1, 6):
        assert torch.allclose(actual[leaf], X[leaf] + 0.5 * ((Y[0] + Y[leaf]) / 2 - Y[leaf]))
    assert torch.equal(actual[6], X[6])


@cases(
    "pull",
    lambda z, weights, gamma, run: weights * z.relu(),
    lambda z, weights, gamma, run: weights * z / (1 + z.norm(dim=1, keepdim=True)),
)
@pytest.mark.usefixtures("own_entries")
def test_a_pull_that_is_not_odd_in_each_entry_is_refused(pull):
    """It was taken as odd: with another sign at the other end, and by blocks of columns."""
    ngo.coupling("uneven")(pull)
    with pytest.raises(ngo.UserError, match="coupling: .* is not odd in each entry"):
        COUPLINGS["uneven"].step(torch.rand(4, 3), ring_matrix(4), 0.5, SimpleNamespace())


@cases("pull", lambda z, w: None, lambda z, w: z.sum(), lambda z, w: z.numpy())
def test_a_pull_that_is_no_tensor_of_the_shape_of_its_differences_is_refused(pull):
    entry = COUPLINGS["power"].__class__((), lambda z, w, gamma, run: pull(z, w))
    with pytest.raises(ngo.UserError, match="coupling: '<lambda>' returned .* for differences"):
        entry.step(states()[0], ring_matrix(), 1.0, SimpleNamespace())
