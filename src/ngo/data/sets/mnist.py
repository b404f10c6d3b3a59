"""MNIST: four idx files."""

from pathlib import Path

import numpy as np

from ngo.data.dataset import Arrays, dataset
from ngo.data.idx import mnist_arrays, mnist_files, mnist_labels

FOLDER = "MNIST/raw"
MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist"

# The md5 sums of each file: plain and compressed.
SUMS = {
    "train-images-idx3-ubyte": (
        "6bbc9ace898e44ae57da46a324031adb",
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    ),
    "train-labels-idx1-ubyte": (
        "a25bea736e30d166cdddb491f175f624",
        "d53e105ee54ea40749a09fcbcd1e9432",
    ),
    "t10k-images-idx3-ubyte": (
        "2646ac647ad5339dbf082846283269ea",
        "9fb629c4189551a2d022fa330f9573f3",
    ),
    "t10k-labels-idx1-ubyte": (
        "27ae3e4e09519cfbb04c329615203637",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
}


def read_mnist_labels(root: Path) -> np.ndarray:
    """The labels of the training images."""
    return mnist_labels(root / FOLDER)


@dataset(
    "mnist",
    read_labels=read_mnist_labels,
    train_samples=60_000,
    input_shape=(1, 28, 28),
    classes=10,
    **mnist_files(FOLDER, MIRROR, SUMS),
)
def read_mnist(root: Path) -> Arrays:
    """Read MNIST."""
    return mnist_arrays(root / FOLDER)
