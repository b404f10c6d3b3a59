"""What is measured on trained models, against formulas."""

import math

import numpy as np
import pytest
import torch
from runs import keep_models
from torch import nn

from ngo.common.registries import TASKS
from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.measures.gradient_alignment import AlignmentOptions, alignment_table
from ngo.measures.model_outputs import SamplesOptions, samples_table
from ngo.measures.sharpness import Loss, SharpnessOptions, largest_eigenvalue, sharpness_table
from ngo.models.layers import Dropout
from ngo.training.snapshots import restored
from verdicts.registry import UserError

pytestmark = pytest.mark.filterwarnings("error")
CONVEX = {"dataset": "least_squares", "model": "linear"}


def test_the_gradients_of_least_squares_are_those_of_the_formula(tmp_path):
    """∇F(w) = 2/m Aᵀ(Aw − b) on all m samples, at w̄ + s(w_i − w̄)."""
    _, snapshots = keep_models(tmp_path / "m.pt", **CONVEX, spread=1.0)
    data = loading.load("least_squares", tmp_path)
    m = len(data.train_inputs)
    options = AlignmentOptions(scale=[0, 0.5, 2], samples=m)
    table = alignment_table(options, [tmp_path / "m.pt"], tmp_path)
    A, b = data.train_inputs.double(), data.train_targets.double()
    X = snapshots[3]["X"].double()
    mean = X.mean(0)

    def gradient(w):
        return 2 / m * A.T @ (A @ w[:, None] - b)[:, 0]

    at_mean = gradient(mean)
    for scale, rows in table.groupby("scale"):
        assert rows["worker"].tolist() == [-1, 0, 1, 2]
        V0 = ((X - mean) ** 2).sum().item()
        assert rows["V"].to_numpy() == pytest.approx(scale**2 * V0, rel=1e-5)
        of_workers = torch.stack([gradient(mean + scale * (x - mean)) for x in X])
        cosines = torch.cosine_similarity(of_workers, at_mean[None])
        assert rows["cosine"].iloc[1:].tolist() == pytest.approx(cosines.tolist(), abs=1e-5)
        norms = of_workers.norm(dim=1) / at_mean.norm()
        assert rows["relative_norm"].iloc[1:].tolist() == pytest.approx(norms.tolist(), rel=1e-4)
        assert rows["accuracy"].isna().all()  # regression has none
        # The gradient is affine in w: the mean of the workers' is that at their mean.
        assert rows[["cosine", "relative_norm"]].iloc[0].tolist() == pytest.approx([1, 1], rel=1e-5)


def samples_of(folder, **values):
    return samples_table(SamplesOptions(**values), [folder / "m.pt"], folder)


def image(table, kind, worker, k, step):
    chosen = (table["kind"] == kind) & (table["worker"] == worker) & (table["step"] == step)
    return table[chosen & (table["image"] == k)]["value"].to_numpy()


def test_samples_are_those_of_the_modules_of_an_autoencoder_and_a_regression(tmp_path):
    spec, snapshots = keep_models(tmp_path / "m.pt", (1, 2), dataset="digits", model="mnist_vae")
    table = samples_of(tmp_path, images=2, seed=5)
    assert len(table) == 2 * 784 * 2 * (2 + 4)
    tests = loading.load("digits", tmp_path).test_inputs[:2]
    consensus, *workers = (m.eval() for m in restored(spec, snapshots[2]).models())
    codes = torch.randn(2, 2, generator=torch_stream(5, "samples"))
    with torch.no_grad():
        again = consensus.decode(consensus.encode(tests / 255)[0]).sigmoid() * 255
        drawn = [model.decode(codes).sigmoid() * 255 for model in (consensus, *workers)]
    for k in range(2):
        assert image(table, "original", -1, k, 2).tolist() == tests[k].flatten().tolist()
        shown = image(table, "reconstruction", -1, k, 2)
        assert np.abs(shown - again[k].flatten().numpy()).max() <= 0.51
        for worker, images in enumerate(drawn, start=-1):
            shown = image(table, "generation", worker, k, 2)
            assert np.abs(shown - images[k].flatten().numpy()).max() <= 0.51
    one, other = (image(table, "generation", worker, 0, 2) for worker in (0, 1))
    assert not np.array_equal(one, other)
    spec, snapshots = keep_models(tmp_path / "m.pt", dataset="sine", model="toy_net")
    table = samples_of(tmp_path, images=11, seed=0)
    data = loading.load("sine", tmp_path)
    assert table[table["kind"] == "target"]["y"].tolist() == data.test_targets[:200, 0].tolist()
    modules = [m.eval() for m in restored(spec, snapshots[3]).models()]
    for worker, module in enumerate(modules, start=-1):
        curve = table[(table["kind"] == "prediction") & (table["worker"] == worker)]
        assert set(curve["who"]) == {"consensus" if worker < 0 else "worker"}
        ends = [data.test_inputs.min().item(), data.test_inputs.max().item()]
        assert [curve["x"].iloc[0], curve["x"].iloc[-1]] == ends
        x = torch.tensor(curve["x"].to_numpy(), dtype=torch.float32)[:, None]
        assert curve["y"].tolist() == pytest.approx(module(x)[:, 0].tolist(), abs=1e-6)


def sharpness_of(folder, **values):
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
    actual = largest_eigenvalue(lambda v: H @ v, len(H), 1e-8)
    assert actual == pytest.approx(max(eigenvalues), rel=1e-6)
    assert math.isnan(largest_eigenvalue(lambda v: v * torch.inf, 5, 1e-4))


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
    v = torch.randn(len(loss.mean), dtype=torch.float64)
    assert torch.allclose(loss.hessian_product(v), H @ v, rtol=1e-9, atol=1e-12)
    actual = largest_eigenvalue(loss.hessian_product, len(loss.mean), 1e-8)
    assert actual == pytest.approx(float(torch.linalg.eigvalsh(H)[-1]), rel=1e-6)
    assert loss.at(loss.mean) == pytest.approx(float(by_hand(loss.mean)))
    assert model.training


def test_least_squares_has_the_eigenvalue_and_the_losses_of_the_formula(tmp_path):
    """F(w) = ‖Aw − b‖²/m: the Hessian is 2AᵀA/m, and F(x̄ + δ) − F(x̄) = ∇F(x̄)ᵀδ + ‖Aδ‖²/m."""
    _, snapshots = keep_models(tmp_path / "m.pt", **CONVEX, spread=1.0)
    data = loading.load("least_squares", tmp_path)
    m = len(data.train_inputs)
    table = sharpness_of(tmp_path, samples=m, radius=(0.5, 2.0), directions=100, precision=1e-8)
    assert table["radius"].tolist() == [0.5, 2]
    A, b = data.train_inputs.double(), data.train_targets.double().flatten()
    H = 2 * A.T @ A / m
    assert table["sharpness"].tolist() == pytest.approx([float(torch.linalg.eigvalsh(H)[-1])] * 2)
    for row in table.to_dict("records"):
        X = snapshots[row["step"]]["X"].double()
        mean = X.mean(0).float().double()
        r, distances = row["radius"], X - mean

        def loss(w):
            return float((A @ w - b).square().mean())

        def increase(moves, here=mean, loss=loss):
            return np.mean([loss(here + move) - loss(here) for move in moves])

        assert row["V"] == pytest.approx(float(distances.square().sum()), rel=1e-5)
        assert row["loss"] == pytest.approx(loss(mean), rel=1e-6)
        assert row["own_increase"] == pytest.approx(increase(distances), rel=1e-6)
        moved = r * distances / distances.norm(dim=1, keepdim=True)
        assert row["workers_increase"] == pytest.approx(increase(moved), rel=1e-6)
        # ∇F is odd in the direction: the mean of δᵀHδ/2 is left, r² tr(H)/(2d)
        curvature = r**2 * float(H.trace()) / len(mean) / 2
        slope = float((H @ mean - 2 * A.T @ b / m).norm()) * r / math.sqrt(100 * len(mean))
        assert row["random_increase"] == pytest.approx(curvature, abs=5 * slope + 0.05 * curvature)


def test_what_diverged_has_no_sharpness_and_more_samples_than_there_are_is_an_error(tmp_path):
    keep_models(tmp_path / "m.pt", **CONVEX, spread=math.inf)
    (row,) = sharpness_of(tmp_path, samples=20).to_dict("records")
    assert row["diverged"]
    assert math.isnan(row["sharpness"])
    keep_models(tmp_path / "m.pt", dataset="digits", model="mnist_cnn")
    with pytest.raises(UserError, match="samples: 1438 .*; digits has 1437 training"):
        sharpness_of(tmp_path, samples=1438)
