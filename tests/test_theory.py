"""Bounds, limits and floors, set against what is measured."""

import math

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import torch
from conftest import gaussian
from hypothesis import given, settings
from hypothesis import strategies as st

from ngo import graphs, theory, theory_plots, theory_tables
from ngo.consensus import integrate, simulate, synchronization_index
from ngo.least_squares import LeastSquares, gaussian_problem, sgd
from ngo.pool import one_intra_op_thread
from ngo.registry import UserError
from ngo.seeding import numpy_stream, torch_stream

TWO = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with one_intra_op_thread():
        yield


def random_weights(n, u, seed):
    """Symmetric weights on a random tree and further edges, each with probability u."""
    generator = torch_stream(seed, "weights")
    W = 0.05 + torch.rand(n, n, generator=generator, dtype=torch.float64)
    there = torch.rand(n, n, generator=generator) < u
    for i in range(1, n):
        there[i, int(torch.randint(i, (1,), generator=generator))] = True
    W = (W * there).tril(-1)
    return W + W.T


def test_the_printed_time_fails_on_two_workers_and_the_corrected_one_holds():
    V0, p = 0.1425, 0.75
    printed, corrected, sharp = (
        theory.finite_time_bound(V0, TWO, p, 1.0, form) for form in ("paper", "corrected", "sharp")
    )
    assert printed == pytest.approx(0.73, abs=0.005)
    assert corrected == pytest.approx(1.74, abs=0.005)
    half = math.sqrt(V0 / 2)
    X0 = torch.tensor([[half], [-half]], dtype=torch.float64)
    early = integrate(X0, TWO, p, t_end=10, tol=6e-6).consensus_time
    assert early == pytest.approx(1.39, abs=0.005)
    end = integrate(X0, TWO, p, t_end=10, tol=1e-14).consensus_time
    assert printed < early < end < sharp < corrected
    assert end == pytest.approx(sharp, rel=1e-3)
    assert sharp == 2 * printed


@settings(deadline=None, max_examples=300, derandomize=True)
@given(
    n=st.integers(2, 6),
    d=st.integers(1, 2),
    u=st.floats(0, 1),
    p=st.floats(0.5, 0.97),
    gamma=st.floats(0.1, 2),
    scale=st.floats(0.01, 10),
    seed=st.integers(0, 10_000),
)
def test_consensus_comes_by_the_corrected_times(n, d, u, p, gamma, scale, seed):
    W, X0, tol = random_weights(n, u, seed), scale * gaussian(n, d, seed), 1e-8
    V0 = float(synchronization_index(X0))
    corrected, sharp = (
        theory.finite_time_bound(V0, W, p, gamma, form, V_end=tol * V0)
        for form in ("corrected", "sharp")
    )
    flow = integrate(X0, W, p, gamma, t_end=2 * sharp, tol=tol)
    assert flow.consensus_time <= sharp * (1 + 1e-3)
    assert sharp <= corrected


def test_a_finite_time_needs_a_connected_graph_and_a_sublinear_coupling():
    pieces = graphs.metropolis_hastings(4, [(0, 1), (2, 3)])
    assert theory.finite_time_bound(1.0, pieces, 0.75) == math.inf
    with pytest.raises(ValueError, match=r"\[1/2, 1\)"):
        theory.finite_time_bound(1.0, TWO, 1.0)


def test_delay_limits_of_known_spectra():
    assert theory.delay_limit(TWO) == pytest.approx(math.pi / 2)  # λ_n = 1
    W = graphs.mixing_matrix(graphs.ring(6))  # λ_n = 4/3
    assert theory.delay_limit(W) == pytest.approx(3 * math.pi / 8)
    # x ← x − γλ x(t − 1) is stable up to γλ = 1: the roots of z² − z + γλ have modulus √(γλ).
    assert theory.delay_limit(TWO, 1.0) == pytest.approx(1)
    assert theory.delay_limit(TWO, 1e-4) == pytest.approx(math.pi / 2 - 0.5e-4, abs=1e-7)
    assert theory.delay_limit(W, 2.0) == 0  # γλ_n above 2: even the undelayed diverge


@pytest.mark.parametrize("p", [0.6, 0.75, 0.9])
@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_the_cycle_of_two_workers_and_of_an_even_ring(p, gamma):
    w = 0.5
    run = simulate(torch.tensor([[0.7], [-0.4]], dtype=torch.float64), TWO, p, gamma, 1000)
    difference = (run.states[-1, 0] - run.states[-1, 1]).abs().item()
    assert difference == pytest.approx(theory.chatter_floor(gamma, w, p), rel=1e-6)
    assert float(run.V[-1]) == pytest.approx(theory.chatter_V(gamma, TWO, p), rel=1e-6)
    ring = graphs.mixing_matrix(graphs.ring(8))
    expected = 3 * 8 / 4 * (2 * gamma / 3) ** (1 / (1 - p))
    assert theory.chatter_V(gamma, ring, p, d=3) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("p", [0.6, 0.9])
@pytest.mark.parametrize(
    "graph",
    [graphs.ring(4), graphs.ring(5), graphs.ring(10), graphs.complete(6), graphs.complete(7)],
)
def test_rounds_end_near_the_predicted_floor(graph, p):
    """Some coordinates may end in a smaller cycle than the largest: within 30 % in V, not above."""
    W = graphs.mixing_matrix(graph)
    V = simulate(gaussian(len(W), 100), W, p, 1.0, 700).V[-50:].mean().item()
    assert 0.7 <= V / theory.chatter_V(1.0, W, p, d=100) <= 1.001


def test_the_floor_of_the_mnist_network_is_of_the_order_measured():
    W = graphs.mixing_matrix(graphs.ring(10))
    assert theory.chatter_V(1.0, W, 0.9, d=21_840) == pytest.approx(880, rel=0.1)


@pytest.mark.parametrize(("T", "a"), [(1, 16.0), (7, 3.5), (100, 40.0)])
def test_the_sum_of_weights(T, a):
    S = theory.weight_sum(T, a)
    assert sum((a + t) ** 2 for t in range(T)) == pytest.approx(S)
    assert S >= T**3 / 3


def test_the_bound_of_sgd_term_by_term():
    known = {"mu": 0.5, "L": 2.0, "a": 64.0, "n": 4}
    S = theory.weight_sum(10, 64.0)
    alone = {"sigma2": 0.0, "distance2": 0.0, "weighted_V": 0.0}
    terms = {
        "distance2": 0.5 * 64**3 / (8 * S),
        "sigma2": 4 * 10 * (10 + 128) / (0.5 * 4 * S),
        "weighted_V": 4.5 / (4 * S),
    }
    for name, term in terms.items():
        assert theory.sgd_bound(10, **known, **{**alone, name: 3.0}) == pytest.approx(3 * term)
    ones = dict.fromkeys(alone, 1.0)
    assert theory.sgd_bound(10, **known, **ones) == pytest.approx(sum(terms.values()))


def test_the_step_offset_meets_both_theorems():
    assert theory.step_offset(0.5, 2.0) == 64
    assert theory.step_offset(1.0, 1.0, 0.9, TWO) == pytest.approx(50)  # 5/β, β = 1 − 0.9 · 1


def test_constants_of_a_problem_made_by_hand():
    """f_1 = (x² + 4y²)/4 − …: Hessians diag(1, 4)/2 and diag(9, 1)/2."""
    A = torch.tensor([[[1.0, 0], [0, 2]], [[3, 0], [0, 1]]], dtype=torch.float64)
    b = torch.tensor([[1.0, 2], [3, 1]], dtype=torch.float64)
    problem = LeastSquares(A, b)
    assert (problem.L, problem.mu) == pytest.approx((4.5, 0.5))
    assert problem.optimum.tolist() == pytest.approx([1, 1])
    zero = torch.zeros(2, dtype=torch.float64)
    assert problem.loss(zero).item() == pytest.approx(15 / 8)
    assert problem.gap(zero).item() == pytest.approx(15 / 8)


def test_gradient_and_noise_are_those_of_every_sample():
    problem = gaussian_problem(3, 20, 4, noise=0.5, heterogeneity=1.0, seed=0)
    X = gaussian(3, 4)[:, None].requires_grad_()
    losses = ((problem.A @ X[:, 0, :, None])[..., 0] - problem.b).square() / 2
    (full,) = torch.autograd.grad(losses.mean(1).sum(), X, retain_graph=True)
    each = [problem.gradient(X.detach(), torch.full((3, 1, 1), k)).squeeze(1) for k in range(20)]
    assert torch.allclose(torch.stack(each).mean(0), full[:, 0])
    assert torch.allclose(problem.full_gradient(X.detach()), full)
    variance = (torch.stack(each) - full[:, 0]).square().sum(-1).mean(0)
    assert torch.allclose(problem.noise(X.detach(), 1)[:, 0], variance)
    assert torch.allclose(problem.noise(X.detach(), 4)[:, 0], variance / 4)


@pytest.mark.parametrize("settings", [{}, {"W": TWO, "gamma": 0.3, "p": 0.8}])
def test_sgd_equals_algorithm_1_term_by_term(settings):
    problem = gaussian_problem(2, 30, 3, noise=0.5, heterogeneity=1.0, seed=1)
    a = theory.step_offset(problem.mu, problem.L)
    common = {"a": a, "batch": 2, "repeats": 3, "seed": 5, "record": [1, 12]}
    run = sgd(problem, 12, **common, **settings)
    stream = numpy_stream(5, "batches")
    X = torch.zeros(3, 2, 3, dtype=torch.float64)
    total, S = torch.zeros(3, 3, dtype=torch.float64), 0.0
    for t in range(12):
        w = (a + t) ** 2
        total, S = total + w * X.mean(1), S + w
        assert torch.allclose(run.V[t], synchronization_index(X), atol=1e-14)
        batches = stream.integers(30, size=(2, 3, 2))
        for repeat in range(3):
            x = X[repeat].clone()
            for i in range(2):
                rows = batches[i, repeat]
                A, b = problem.A[i, rows], problem.b[i, rows]
                X[repeat, i] -= 4 / (problem.mu * (a + t)) * A.T @ (A @ x[i] - b) / 2
            if "W" in settings:
                z = X[repeat, 1] - X[repeat, 0]
                pull = 0.3 * 0.5 * z.sign() * z.abs() ** 0.6
                X[repeat, 0] += pull
                X[repeat, 1] -= pull
            else:
                X[repeat] = X[repeat].mean(0)
    gap = problem.loss(total / S) - problem.loss(problem.optimum)
    assert torch.allclose(run.gap[-1], gap)
    assert run.T == [1, 12]
    assert run.gap[0].tolist() == pytest.approx([problem.gap(torch.zeros(3).double()).item()] * 3)


@pytest.fixture(scope="module")
def whole():
    """All that is measured, small."""
    return theory_tables.measure(
        ["ring", "random", "complete"], [2, 5], u=0.4, p=[0.5, 0.75], seed=0,
        tol=1e-10, draws=2, delay_step=0.2, delay_rounds=250, delay_share=0.01,
        floor_gamma=[0.5, 1.0], floor_dimension=20,
        sgd_topology="ring", sgd_workers=5, sgd_gamma=0.2, sgd_p=0.9,
        samples=50, dimension=3, noise=0.5, heterogeneity=0.5, batch_size=4,
        steps=300, points=8, repeats=5,
    )  # fmt: skip


@pytest.fixture
def measured(whole, tmp_path):
    """The four tables, from a file."""
    whole.to_parquet(tmp_path / "theory.parquet")
    return theory_tables.split(pd.read_parquet(tmp_path / "theory.parquet"))


def test_a_graph_that_is_never_connected_is_told():
    with pytest.raises(UserError, match="u: 1e-09 gave no connected random graph of 5 workers in"):
        theory_tables.chatter_floors(["random"], [5], 1e-9, [0.9], [0.1], 1, seed=0)


def test_a_floor_that_takes_too_many_rounds_is_told():
    with pytest.raises(UserError, match="floor_gamma: 1e-09 takes .* rounds at p = 0.9 on 4"):
        theory_tables.chatter_floors(["ring"], [4], 0.4, [0.9], [1e-9], 1, seed=0)


def test_verdicts_are_those_of_the_numbers(measured):
    table = theory_tables.verdicts(**measured).set_index("statement")
    fails = set(table.index[table["verdict"] == "fails"])
    assert fails == {
        "Theorem 3.1: consensus by T*, as printed",
        "Delay theorem: V vanishes at half the limit, p = 0.5",
        "Delay theorem: V vanishes at half the limit, p = 0.75",
        "Theorem 3.2: V is 0 after T*",
    }
    assert table.loc["Theorem 3.1: consensus by T*, as printed", "ratio"] == pytest.approx(2, 1e-3)
    assert (table["met"] <= table["cases"]).all()
    assert ((table["met"] == table["cases"]) == (table["verdict"] == "holds")).all()
    worse = measured["gaps"].assign(gap=lambda t: 100 * t["gap"])
    spoilt = theory_tables.verdicts(**{**measured, "gaps": worse}).set_index("statement")
    assert spoilt.loc["Theorem 2.1: the gap, gossip", "verdict"] == "fails"


def test_each_table_keeps_its_own_columns(whole, measured):
    assert list(measured) == ["bounds", "delays", "floors", "gaps"]
    assert sum(map(len, measured.values())) == len(whole)
    assert sorted(measured["delays"]["p"].unique()) == [0.5, 0.75, 1]
    assert sorted(measured["floors"]["p"].unique()) == [0.75]
    assert not any(table.isna().any(axis=None) for table in measured.values())
    assert "residual" in measured["delays"]
    assert "residual" not in measured["gaps"]


def test_a_sublinear_coupling_tolerates_less_delay_than_the_theorem_says(measured):
    delays = measured["delays"]
    sublinear = delays[delays["p"] < 1]
    assert (sublinear["tolerated"] < 0.7 * sublinear["limit_of_rounds"]).all()


def test_every_graph_stands_once_and_gaps_shrink(measured):
    bounds, gaps = measured["bounds"], measured["gaps"]
    cells = bounds[["topology", "n"]].drop_duplicates()
    assert cells["n"].tolist().count(2) == 1  # on two workers all topologies are one
    assert {"ring", "complete"} <= set(cells["topology"])
    for _, group in gaps.groupby("protocol"):
        assert group["T"].iloc[[0, -1]].tolist() == [1, 300]
        assert group["gap"].iloc[-1] < 0.1 * group["gap"].iloc[0]
        assert (group["printed"] <= group["bound"]).all()
    last = gaps[gaps["T"] == 300].set_index("protocol")["V"]
    assert last["centralized"] < 1e-20 < last["ngo"] < last["gossip"]


def test_the_figure_has_a_panel_and_the_data_of_each_table(measured):
    figure = theory_plots.theory_figure(**measured)
    assert len(figure.axes) == 4
    assert [len(axis.get_legend().get_texts()) for axis in figure.axes] == [3, 3, 3, 1]
    times = next(line for line in figure.axes[0].lines if "printed" in line.get_label())
    ratios = measured["bounds"]["measured"] / measured["bounds"]["paper"]
    assert times.get_ydata().tolist() == ratios.tolist()
    plt.close(figure)


def test_the_printed_verdicts_are_plain_enough_for_latex(measured, tmp_path):
    from ngo.tables import save_table

    table = theory_tables.verdicts(**measured)
    printed = theory_tables.printed(table)
    save_table(table, printed, tmp_path / "theory", "A caption.")
    assert (tmp_path / "theory.tex").read_text().isascii()
    assert len(pd.read_csv(tmp_path / "theory.csv")) == len(table)
