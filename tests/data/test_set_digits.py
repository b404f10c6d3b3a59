import torch

from ngo.data import loading
from ngo.data.dataset import DATASETS
from ngo.data.sets.digits import digits_table


def test_digits_are_scikit_learns(tmp_path):
    from sklearn.datasets import load_digits

    table = digits_table()
    bundled = load_digits()
    rows = {tuple(row) for row in table.tolist()}
    assert len(table) == 1797
    assert rows == {
        (*image, label)
        for image, label in zip(
            bundled.data.astype(int).tolist(), bundled.target.tolist(), strict=True
        )
    }
    data = loading.load("digits", tmp_path)
    assert data.train_inputs.shape == (1437, 1, 28, 28)
    assert data.test_inputs.shape == (360, 1, 28, 28)
    assert len(data.train_inputs) == DATASETS["digits"].train_samples
    assert data.train_targets.numpy().tolist() == loading.train_labels("digits", tmp_path).tolist()
    assert int(data.train_inputs.max()) == 255
    assert torch.unique(data.test_targets).tolist() == list(range(10))
