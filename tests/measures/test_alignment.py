import pandas as pd
import pytest
import torch
from kept_models import keep_models

from ngo.common.registry import UserError
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


def test_synced_workers_have_the_gradient_at_their_mean_with_dropout_off(tmp_path):
    keep_models(tmp_path / "m.pt", (2, 3), dataset="digits", model="mnist_cnn", method="gossip")
    table = table_of(tmp_path, scale=[0, 1], samples=20)
    assert set(table["step"]) == {3}
    synced = table[table["scale"] == 0]
    assert (synced["V"] == 0).all()
    assert synced["cosine"].to_numpy() == pytest.approx(1, abs=1e-9)
    assert synced["relative_norm"].to_numpy() == pytest.approx(1, abs=1e-9)
    assert (table.loc[table["scale"] == 1, "cosine"] < 0.999).all()
    assert table["accuracy"].between(0, 1).all()
    assert synced["accuracy"].nunique() == 1
    consensus = table[table["worker"] == -1]["accuracy"]
    assert consensus.nunique() == 1  # the mean does not move
    assert table["method"].unique().tolist() == ["gossip"]
    pd.testing.assert_frame_equal(table, table_of(tmp_path, scale=[0, 1], samples=20))


def test_more_samples_than_there_are_is_an_error(tmp_path):
    keep_models(tmp_path / "m.pt", dataset="digits", model="mnist_cnn")
    with pytest.raises(UserError, match="samples: 1438 is more than digits's 1437 training"):
        table_of(tmp_path, scale=[1], samples=1438)
