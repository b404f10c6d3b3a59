import pytest
import torch
from kept_models import keep_models

from ngo.data import loading
from ngo.measures.alignment import AlignmentOptions, alignment_table

pytestmark = pytest.mark.filterwarnings("error")


def table_of(folder, **values):
    return alignment_table(AlignmentOptions(**values), [folder / "m.pt"], folder)


def test_the_gradients_of_least_squares_are_those_of_the_formula(tmp_path):
    """∇F(w) = 2/m Aᵀ(Aw − b) on all m samples, at w̄ + s(w_i − w̄)."""
    _, snapshots = keep_models(
        tmp_path / "m.pt", dataset="least_squares", model="linear", spread=1.0
    )
    data = loading.load("least_squares", tmp_path)
    m = len(data.train_inputs)
    table = table_of(tmp_path, scale=[0, 0.5, 2], samples=m)
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
        own = torch.stack([gradient(mean + scale * (x - mean)) for x in X])
        cosines = torch.cosine_similarity(own, at_mean[None])
        assert rows["cosine"].iloc[1:].tolist() == pytest.approx(cosines.tolist(), abs=1e-5)
        norms = own.norm(dim=1) / at_mean.norm()
        assert rows["relative_norm"].iloc[1:].tolist() == pytest.approx(norms.tolist(), rel=1e-4)
        assert rows["accuracy"].isna().all()  # regression has none
        # The gradient is affine in w: the mean of the workers' is that at their mean.
        assert rows[["cosine", "relative_norm"]].iloc[0].tolist() == pytest.approx([1, 1], rel=1e-5)
