"""A data set of MNIST's layout with two training images and one test image."""

import hashlib
from dataclasses import replace

import numpy as np
from conftest import idx

from ngo.data.dataset import DATASETS


def tiny_mnist(tmp_path, monkeypatch):
    """Register it as ``tiny``; return its name, its data root, and the contents of its files."""
    rng = np.random.default_rng(0)
    arrays = {
        "train-images-idx3-ubyte": rng.integers(0, 256, (2, 28, 28)),
        "train-labels-idx1-ubyte": np.array([3, 7]),
        "t10k-images-idx3-ubyte": rng.integers(0, 256, (1, 28, 28)),
        "t10k-labels-idx1-ubyte": np.array([1]),
    }
    contents = {f"MNIST/raw/{name}": idx(array) for name, array in arrays.items()}
    root = tmp_path / "root"
    (root / "MNIST/raw").mkdir(parents=True)
    for name, content in contents.items():
        (root / name).write_bytes(content)
    sums = {name: (hashlib.md5(content).hexdigest(),) for name, content in contents.items()}
    source = replace(DATASETS["mnist"], files=sums, train_samples=2)
    monkeypatch.setitem(DATASETS, "tiny", source)
    return "tiny", root, contents
