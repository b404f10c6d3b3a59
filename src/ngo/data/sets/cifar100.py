"""CIFAR-100 with its 100 fine labels: two pickled files."""

from pathlib import Path

import numpy as np

from ngo.data import pickled_batch
from ngo.data.dataset import Arrays, Download, dataset

FOLDER = "cifar-100-python"
FILES = {
    f"{FOLDER}/train": ("16019d7e3df5f24257cddd939b257f8d",),
    f"{FOLDER}/test": ("f0ef6b0ae62326f3e7ffdfab6717acfc",),
    f"{FOLDER}/meta": ("7973b15100ade9c7d40fb424638fde48",),
}


def read_cifar100_labels(root: Path) -> np.ndarray:
    """The fine labels of the training images."""
    return read_file(root / FOLDER / "train")[1]


@dataset(
    "cifar100",
    read_labels=read_cifar100_labels,
    train_samples=50_000,
    input_shape=(3, 32, 32),
    classes=100,
    files=FILES,
    downloads=(
        Download(
            "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
            "eb9058c3a382ffc7106e4002c42a8d85",
            unpack="tar",
        ),
    ),
)
def read_cifar100(root: Path) -> Arrays:
    """Read CIFAR-100."""
    return Arrays(*read_file(root / FOLDER / "train"), *read_file(root / FOLDER / "test"))


def read_file(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The images, uint8 ``[m, 3, 32, 32]``, and fine labels, int64 ``[m]``, of one file."""
    return pickled_batch.read_batch(path, b"fine_labels", "a CIFAR-100 file")
