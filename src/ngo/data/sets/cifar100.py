"""CIFAR-100 with its 100 fine labels: two pickled files."""

from pathlib import Path

import numpy as np

from ngo.data.dataset import Arrays, Download, dataset
from ngo.data.pickled_batch import read_batch

URL = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
FOLDER = "cifar-100-python"
FILES = {
    f"{FOLDER}/train": ("16019d7e3df5f24257cddd939b257f8d",),
    f"{FOLDER}/test": ("f0ef6b0ae62326f3e7ffdfab6717acfc",),
    f"{FOLDER}/meta": ("7973b15100ade9c7d40fb424638fde48",),
}


@dataset(
    "cifar100",
    train_samples=50_000,
    input_shape=(3, 32, 32),
    classes=100,
    files=FILES,
    downloads=(Download(URL, "eb9058c3a382ffc7106e4002c42a8d85"),),
)
def read_cifar100(root: Path) -> Arrays:
    """Read CIFAR-100."""
    train, test, _ = (root / name for name in FILES)
    return Arrays(*_read(train), *_read(test))


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    return read_batch(path, b"fine_labels", "a CIFAR-100 file")
