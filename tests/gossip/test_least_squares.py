import pytest
import torch
from conftest import gaussian

from ngo.common.seeding import numpy_stream
from ngo.gossip import bounds
from ngo.gossip.consensus import synchronization_index
from ngo.gossip.least_squares import LeastSquares, gaussian_problem, sgd
from ngo.native.pool import one_intra_op_thread

TWO = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with one_intra_op_thread():
        yield


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
    a = bounds.step_offset(problem.mu, problem.L)
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
