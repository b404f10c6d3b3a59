"""CIFAR-10, and CIFAR-100 with its 100 fine labels: pickled arrays."""

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ngo.common.files import reading
from ngo.data.dataset import Arrays, Download, checksums, dataset

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
    with reading(f"data.root: {str(path)!r} is not {what}"), path.open("rb") as file:
        content = Unpickler(file, encoding="bytes").load()
        return content[b"data"].reshape(-1, 3, 32, 32), np.array(content[labels], np.int64)


def _facts(classes: int, folder: str) -> dict[str, Any]:
    """The arguments of ``dataset``."""
    files = {name: sums for name, sums in checksums().items() if name.startswith(f"{folder}/")}
    archive = f"cifar-{classes}-python.tar.gz"
    (md5,) = checksums()[archive]
    facts = {"train_samples": 50_000, "input_shape": (3, 32, 32), "classes": classes}
    downloads = (Download(f"https://www.cs.toronto.edu/~kriz/{archive}", md5),)
    return {**facts, "files": files, "downloads": downloads}


def _read(root: Path, files: Iterable[str], labels: bytes, what: str) -> Arrays:
    """The batches in ``files``; the last one of them has the names of the classes."""
    *train, test = (read_batch(root / name, labels, what) for name in [*files][:-1])
    images, targets = zip(*train, strict=True)
    return Arrays(np.concatenate(images), np.concatenate(targets), *test)


CIFAR10, CIFAR100 = _facts(10, "cifar-10-batches-py"), _facts(100, "cifar-100-python")


@dataset("cifar10", **CIFAR10)
def read_cifar10(root: Path) -> Arrays:
    """Read CIFAR-10."""
    return _read(root, CIFAR10["files"], b"labels", "a CIFAR-10 batch")


@dataset("cifar100", **CIFAR100)
def read_cifar100(root: Path) -> Arrays:
    """Read CIFAR-100."""
    return _read(root, CIFAR100["files"], b"fine_labels", "a CIFAR-100 file")
