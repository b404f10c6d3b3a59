"""CIFAR-10, and CIFAR-100 with its 100 fine labels: pickled arrays."""

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ngo.data.dataset import Arrays, Download, dataset

# The md5 sums of the files; the last one of each has the names of the classes.
CIFAR10 = {
    "cifar-10-batches-py/data_batch_1": ("c99cafc152244af753f735de768cd75f",),
    "cifar-10-batches-py/data_batch_2": ("d4bba439e000b95fd0a9bffe97cbabec",),
    "cifar-10-batches-py/data_batch_3": ("54ebc095f3ab1f0389bbae665268c751",),
    "cifar-10-batches-py/data_batch_4": ("634d18415352ddfa80567beed471001a",),
    "cifar-10-batches-py/data_batch_5": ("482c414d41f54cd18b22e5b47cb7c3cb",),
    "cifar-10-batches-py/test_batch": ("40351d587109b95175f43aff81a1287e",),
    "cifar-10-batches-py/batches.meta": ("5ff9c542aee3614f3951f8cda6e48888",),
}
CIFAR100 = {
    "cifar-100-python/train": ("16019d7e3df5f24257cddd939b257f8d",),
    "cifar-100-python/test": ("f0ef6b0ae62326f3e7ffdfab6717acfc",),
    "cifar-100-python/meta": ("7973b15100ade9c7d40fb424638fde48",),
}


def _facts(classes: int, files: dict[str, tuple[str, ...]], md5: str) -> dict[str, Any]:
    """The arguments of ``dataset``; ``md5`` is the sum of the archive."""
    url = f"https://www.cs.toronto.edu/~kriz/cifar-{classes}-python.tar.gz"
    facts = {"train_samples": 50_000, "input_shape": (3, 32, 32), "classes": classes}
    return {**facts, "files": files, "downloads": (Download(url, md5),)}


def _read(root: Path, files: Iterable[str], labels: bytes) -> Arrays:
    """The arrays in all files but the last. A pickle can run code: their sums were verified."""
    *paths, _ = (root / name for name in files)
    contents = [pickle.loads(path.read_bytes(), encoding="bytes") for path in paths]
    *images, test_images = (content[b"data"].reshape(-1, 3, 32, 32) for content in contents)
    *targets, test_targets = (np.array(content[labels], np.int64) for content in contents)
    return Arrays(np.concatenate(images), np.concatenate(targets), test_images, test_targets)


@dataset("cifar10", **_facts(10, CIFAR10, "c58f30108f718f92721af3b95e74349a"))
def read_cifar10(root: Path) -> Arrays:
    """Read CIFAR-10."""
    return _read(root, CIFAR10, b"labels")


@dataset("cifar100", **_facts(100, CIFAR100, "eb9058c3a382ffc7106e4002c42a8d85"))
def read_cifar100(root: Path) -> Arrays:
    """Read CIFAR-100."""
    return _read(root, CIFAR100, b"fine_labels")
