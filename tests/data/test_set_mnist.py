import pytest
import torch

from ngo.data import loading


def test_real_mnist(mnist_root):
    data = loading.load("mnist", mnist_root)
    assert data.train_inputs.shape == (60_000, 1, 28, 28)
    assert torch.bincount(data.test_targets).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert (data.mean.item(), data.std.item()) == pytest.approx((0.1307, 0.3081), abs=1e-4)
