"""CIFAR-10: batches of pickled arrays."""

from pathlib import Path

import numpy as np

from ngo.data import pickled_batch
from ngo.data.dataset import Arrays, Download, dataset

FOLDER = "cifar-10-batches-py"
TRAIN = [f"data_batch_{i}" for i in range(1, 6)]
FILES = {
    f"{FOLDER}/data_batch_1": ("c99cafc152244af753f735de768cd75f",),
    f"{FOLDER}/data_batch_2": ("d4bba439e000b95fd0a9bffe97cbabec",),
    f"{FOLDER}/data_batch_3": ("54ebc095f3ab1f0389bbae665268c751",),
    f"{FOLDER}/data_batch_4": ("634d18415352ddfa80567beed471001a",),
    f"{FOLDER}/data_batch_5": ("482c414d41f54cd18b22e5b47cb7c3cb",),
    f"{FOLDER}/test_batch": ("40351d587109b95175f43aff81a1287e",),
    f"{FOLDER}/batches.meta": ("5ff9c542aee3614f3951f8cda6e48888",),
}


def read_cifar10_labels(root: Path) -> np.ndarray:
    """The labels of the training images."""
    return _read_batches(root, TRAIN)[1]


@dataset(
    "cifar10",
    read_labels=read_cifar10_labels,
    train_samples=50_000,
    input_shape=(3, 32, 32),
    classes=10,
    files=FILES,
    downloads=(
        Download(
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            "c58f30108f718f92721af3b95e74349a",
            unpack="tar",
        ),
    ),
)
def read_cifar10(root: Path) -> Arrays:
    """Read CIFAR-10."""
    return Arrays(*_read_batches(root, TRAIN), *_read_batches(root, ["test_batch"]))


def _read_batches(root: Path, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    images, labels = zip(*(read_batch(root / FOLDER / name) for name in names), strict=True)
    return np.concatenate(images), np.concatenate(labels)


def read_batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The images, uint8 ``[m, 3, 32, 32]``, and labels, int64 ``[m]``, of one batch file."""
    return pickled_batch.read_batch(path, b"labels", "a CIFAR-10 batch")
