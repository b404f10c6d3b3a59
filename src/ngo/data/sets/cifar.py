"""CIFAR-10, and CIFAR-100 with its 100 fine labels: pickled arrays."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from ngo.data.dataset import Arrays, Download, dataset
from verdicts.registry import UserError, in_a_line

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


# What the files name, and nothing else.
NUMPY = {
    "numpy.ndarray": np.ndarray,
    "numpy.dtype": np.dtype,
    "numpy.core.multiarray._reconstruct": np.empty(0).__reduce__()[0],
}


class Unpickler(pickle.Unpickler):
    """Reads numpy's arrays in built-in containers, and runs nothing."""

    def find_class(self, module: str, name: str) -> Any:
        """One of the objects of ``NUMPY``."""
        try:
            return NUMPY[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def read_batch(path: Path, labels: bytes, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The images, uint8 ``[m, 3, 32, 32]``, and labels, int64 ``[m]``, of one file.

    A UserError for a file that is not ``what``.
    """
    try:
        with path.open("rb") as file:
            content = Unpickler(file, encoding="bytes").load()
        return content[b"data"].reshape(-1, 3, 32, 32), np.array(content[labels], np.int64)
    except Exception as error:  # a damaged pickle may raise anything
        raise UserError(f"data.root: {str(path)!r} is not {what}: {in_a_line(error)}") from None


def _facts(classes: int, files: dict[str, tuple[str, ...]], md5: str) -> dict[str, Any]:
    """The arguments of ``dataset``; ``md5`` is the sum of the archive."""
    url = f"https://www.cs.toronto.edu/~kriz/cifar-{classes}-python.tar.gz"
    facts = {"train_samples": 50_000, "input_shape": (3, 32, 32), "classes": classes}
    return {**facts, "files": files, "downloads": (Download(url, md5),)}


def _read(root: Path, files: dict[str, tuple[str, ...]], labels: bytes, what: str) -> Arrays:
    *train, test = (read_batch(root / name, labels, what) for name in list(files)[:-1])
    images, targets = zip(*train, strict=True)
    return Arrays(np.concatenate(images), np.concatenate(targets), *test)


@dataset("cifar10", **_facts(10, CIFAR10, "c58f30108f718f92721af3b95e74349a"))
def read_cifar10(root: Path) -> Arrays:
    """Read CIFAR-10."""
    return _read(root, CIFAR10, b"labels", "a CIFAR-10 batch")


@dataset("cifar100", **_facts(100, CIFAR100, "eb9058c3a382ffc7106e4002c42a8d85"))
def read_cifar100(root: Path) -> Arrays:
    """Read CIFAR-100."""
    return _read(root, CIFAR100, b"fine_labels", "a CIFAR-100 file")
