import numpy as np
import pytest
from conftest import idx
from tiny_mnist import tiny_mnist

from ngo.common.registry import UserError
from ngo.data import loading


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    return tiny_mnist(tmp_path, monkeypatch, "fashion_mnist", "FashionMNIST/raw")


def test_images_and_labels_are_those_of_the_files(tiny):
    name, root, contents = tiny
    data = loading.load(name, root)
    assert data.train_targets.tolist() == [3, 7]
    assert data.test_targets.tolist() == [1]
    assert loading.train_labels(name, root).tolist() == [3, 7]
    for part, inputs in (("train", data.train_inputs), ("t10k", data.test_inputs)):
        images = inputs[:, 0].numpy()
        assert images.shape[1:] == (28, 28)
        assert idx(np.asarray(images)) == contents[f"FashionMNIST/raw/{part}-images-idx3-ubyte"]


def test_a_file_of_mnist_in_its_place_is_refused(tiny):
    name, root, _ = tiny
    path = root / "FashionMNIST/raw/t10k-labels-idx1-ubyte"
    path.write_bytes(idx(np.array([2])))
    with pytest.raises(UserError, match="t10k-labels-idx1-ubyte' is corrupt or truncated"):
        loading.load(name, root)
