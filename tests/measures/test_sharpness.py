"""Sharpness against dense Hessians, and the loss around the mean model by its formula."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from kept_models import keep_models
from torch import nn

from ngo.common.registry import UserError
from ngo.data import loading
from ngo.measures.sharpness import Loss, SharpnessOptions, largest_eigenvalue, sharpness_table
from ngo.models.layers import Dropout
from ngo.models.task import TASKS

pytestmark = pytest.mark.filterwarnings("error")


def table_of(folder, **values):
    return sharpness_table(SharpnessOptions(**values), [folder / "m.pt"], folder)


def symmetric(eigenvalues, seed=0):
    """A matrix with these eigenvalues."""
    random = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(random.standard_normal((len(eigenvalues), len(eigenvalues))))
    return torch.from_numpy(Q @ np.diag(eigenvalues) @ Q.T)


@pytest.mark.parametrize("eigenvalues", [[3.0], [1.0, -7.0], [*range(1, 40)], [*range(-60, 6)]])
def test_the_largest_eigenvalue_is_that_of_the_dense_matrix(eigenvalues):
    """Also where a negative one has the largest modulus, which power iteration would find."""
    H = symmetric(eigenvalues)
    found = largest_eigenvalue(lambda v: H @ v, len(H), 1e-8)
    assert found == pytest.approx(max(eigenvalues), rel=1e-6)


def test_a_product_that_is_not_finite_has_no_eigenvalue():
    assert math.isnan(largest_eigenvalue(lambda v: v * torch.inf, 5))


def small_network():
    """A network with dropout, whose 34 parameters have a dense Hessian."""
    torch.manual_seed(0)
    dropped = Dropout(torch.Generator().manual_seed(0))
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), dropped, nn.Linear(5, 3))
    inputs, targets = torch.randn(300, 4), torch.randint(3, (300,))  # more than one chunk
    return model, Loss(model.train(), TASKS["classification"], inputs, targets), inputs, targets


def test_the_hessian_of_a_small_network_is_the_dense_one():
    model, loss, inputs, targets = small_network()
    x, y = inputs.double(), targets

    def by_hand(w):
        A, a, B, b = (part for part in w.split([20, 5, 15, 3]))
        hidden = torch.tanh(x @ A.view(5, 4).T + a)  # dropout is off
        return nn.functional.cross_entropy(hidden @ B.view(3, 5).T + b, y)

    H = torch.autograd.functional.hessian(by_hand, loss.mean)
    v = torch.randn(loss.d, dtype=torch.float64)
    assert torch.allclose(loss.hessian_product(v), H @ v, rtol=1e-9, atol=1e-12)
    found = largest_eigenvalue(loss.hessian_product, loss.d, 1e-8)
    assert found == pytest.approx(float(torch.linalg.eigvalsh(H)[-1]), rel=1e-6)
    assert loss.at(loss.mean) == pytest.approx(float(by_hand(loss.mean)))
    assert model.training


def test_least_squares_has_the_eigenvalue_and_the_losses_of_the_formula(tmp_path):
    """F(w) = ‖Aw − b‖²/m: the Hessian is 2AᵀA/m, and F(x̄ + δ) − F(x̄) = ∇F(x̄)ᵀδ + ‖Aδ‖²/m."""
    keep = {"dataset": "least_squares", "model": "linear", "spread": 1.0}
    _, snapshots = keep_models(tmp_path / "m.pt", (3, 5), **keep)
    data = loading.load("least_squares", tmp_path)
    m = len(data.train_inputs)
    table = table_of(tmp_path, samples=m, radius=(0.5, 2.0), directions=300, precision=1e-8)
    assert table["step"].tolist() == [3, 3, 5, 5]
    assert table["radius"].tolist() == [0.5, 2, 0.5, 2]
    A, b = data.train_inputs.double(), data.train_targets.double().flatten()
    H = 2 * A.T @ A / m
    assert table["sharpness"].tolist() == pytest.approx([float(torch.linalg.eigvalsh(H)[-1])] * 4)
    for row in table.to_dict("records"):
        X = snapshots[row["step"]]["X"].double()
        mean = X.mean(0).float().double()
        r, own = row["radius"], X - mean

        def loss(w):
            return float((A @ w - b).square().mean())

        def increase(moves, here=mean, loss=loss):
            return np.mean([loss(here + move) - loss(here) for move in moves])

        assert row["V"] == pytest.approx(float(own.square().sum()), rel=1e-5)
        assert row["loss"] == pytest.approx(loss(mean), rel=1e-6)
        assert row["own_increase"] == pytest.approx(increase(own), rel=1e-6)
        moved = r * own / own.norm(dim=1, keepdim=True)
        assert row["workers_increase"] == pytest.approx(increase(moved), rel=1e-6)
        # ∇F is odd in the direction: the mean of δᵀHδ/2 is left, r² tr(H)/(2d)
        curvature = r**2 * float(H.trace()) / len(mean) / 2
        slope = float((H @ mean - 2 * A.T @ b / m).norm()) * r / math.sqrt(300 * len(mean))
        assert row["random_increase"] == pytest.approx(curvature, abs=5 * slope + 0.05 * curvature)


def test_networks_are_measured_in_evaluation_mode_and_alike_each_time(tmp_path):
    keep_models(tmp_path / "m.pt", dataset="digits", model="mnist_cnn", method="gossip")
    options = {"samples": 10, "directions": 2, "precision": 0.05}
    table = table_of(tmp_path, **options)
    assert table["method"].tolist() == ["gossip"]
    assert not table["diverged"].any()
    assert (table[["sharpness", "loss"]] > 0).all(axis=None)
    pd.testing.assert_frame_equal(table, table_of(tmp_path, **options))


def test_models_that_diverged_have_no_sharpness(tmp_path):
    keep_models(tmp_path / "m.pt", dataset="least_squares", model="linear", spread=math.inf)
    (row,) = table_of(tmp_path, samples=20).to_dict("records")
    assert row["diverged"]
    assert math.isnan(row["sharpness"])


def test_more_samples_than_there_are_is_an_error(tmp_path):
    keep_models(tmp_path / "m.pt", dataset="digits", model="mnist_cnn")
    with pytest.raises(UserError, match="samples: 1438 is more than digits's 1437 training"):
        table_of(tmp_path, samples=1438)
