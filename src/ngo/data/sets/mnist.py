"""MNIST and Fashion-MNIST (Xiao et al. 2017): four idx files each, plain or compressed."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ngo.data.dataset import Arrays, Download, dataset
from ngo.data.download import present

# The training and the test images, each with their labels.
KINDS = ("images-idx3-ubyte", "labels-idx1-ubyte")
FILES = tuple(f"{part}-{kind}" for part in ("train", "t10k") for kind in KINDS)

# The folder, the mirror, and the md5 sums of the FILES, plain and compressed.
MNIST = (
    "MNIST/raw",
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    (
        ("6bbc9ace898e44ae57da46a324031adb", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("a25bea736e30d166cdddb491f175f624", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("2646ac647ad5339dbf082846283269ea", "9fb629c4189551a2d022fa330f9573f3"),
        ("27ae3e4e09519cfbb04c329615203637", "ec29112dd5afa0611ce80d1b7f02629c"),
    ),
)
FASHION_MNIST = (
    "FashionMNIST/raw",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
    (
        ("f4a8712d7a061bf5bd6d2ca38dc4d50a", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("9018921c3c673c538a1fc5bad174d6f9", "25c81989df183df01b3e8a0aad5dffbe"),
        ("8181f5470baa50b63fa0f6fddb340f0a", "bef4ecab320f06d8554ea6380940ec79"),
        ("15d484375f8d13e6eb1aabb0c3f46965", "bb300cfdad3c16e7a12a480ee83cd310"),
    ),
)


def facts(folder: str, mirror: str, sums: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The arguments of ``dataset`` for these files and MNIST's sizes."""
    sizes = {"train_samples": 60_000, "input_shape": (1, 28, 28), "classes": 10}
    md5 = dict(zip(FILES, sums, strict=True))
    files = {f"{folder}/{name}": both for name, both in md5.items()}
    downloads = (Download(f"{mirror}/{name}.gz", md5[name][1], folder) for name in FILES)
    return {**sizes, "files": files, "downloads": tuple(downloads)}


@dataset("mnist", **facts(*MNIST))
def read_mnist(root: Path) -> Arrays:
    """Read MNIST."""
    return arrays(root / MNIST[0])


@dataset("fashion_mnist", **facts(*FASHION_MNIST))
def read_fashion_mnist(root: Path) -> Arrays:
    """Read Fashion-MNIST."""
    return arrays(root / FASHION_MNIST[0])


def arrays(folder: Path) -> Arrays:
    """All images and labels of the FILES in a folder."""
    images, labels, test_images, test_labels = (read_idx(folder / name) for name in FILES)
    return Arrays(images[:, None], labels, test_images[:, None], test_labels)


def read_idx(path: Path) -> np.ndarray:
    """Read a verified idx file of bytes, plain or with the suffix ``.gz``, as a uint8 array.

    Format: two zero bytes, the type (8 = unsigned byte), the number of dimensions, each dimension
    as a big-endian int32, the data.
    """
    file = present(path, forms=2)
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    shape = np.frombuffer(content, ">i4", content[3], 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape).copy()
