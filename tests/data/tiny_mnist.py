"""A data set of MNIST's layout with two training images and one test image."""

import hashlib
from dataclasses import replace

import numpy as np
from conftest import idx

from ngo.common.registries import DATASETS


def tiny_mnist(tmp_path, monkeypatch, like="mnist", folder="MNIST/raw"):
    """Register it as ``tiny``; return its name, its data root, and the contents of its files.

    The data set ``like`` has its files in this ``folder`` of the data root.
    """
    rng = np.random.default_rng(0)
    arrays = {
        "train-images-idx3-ubyte": rng.integers(0, 256, (2, 28, 28)),
        "train-labels-idx1-ubyte": np.array([3, 7]),
        "t10k-images-idx3-ubyte": rng.integers(0, 256, (1, 28, 28)),
        "t10k-labels-idx1-ubyte": np.array([1]),
    }
    contents = {f"{folder}/{name}": idx(array) for name, array in arrays.items()}
    root = tmp_path / "root"
    (root / folder).mkdir(parents=True)
    for name, content in contents.items():
        (root / name).write_bytes(content)
    sums = {name: (hashlib.md5(content).hexdigest(),) for name, content in contents.items()}
    monkeypatch.setitem(DATASETS, "tiny", replace(DATASETS[like], files=sums, train_samples=2))
    return "tiny", root, contents
