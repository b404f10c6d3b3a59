"""MNIST and Fashion-MNIST (Xiao et al. 2017): four idx files each, plain or compressed."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from ngo.data.dataset import Arrays, Download, checksums, dataset
from ngo.data.download import present

# The training and the test images, each with their labels.
KINDS = ("images-idx3-ubyte", "labels-idx1-ubyte")
FILES = tuple(f"{part}-{kind}" for part in ("train", "t10k") for kind in KINDS)

MNIST, FASHION_MNIST = "MNIST/raw", "FashionMNIST/raw"


def facts(folder: str, mirror: str) -> dict[str, Any]:
    """The arguments of ``dataset`` for the files in a folder, and MNIST's sizes."""
    sizes = {"train_samples": 60_000, "input_shape": (1, 28, 28), "classes": 10}
    files = {f"{folder}/{name}": checksums()[f"{folder}/{name}"] for name in FILES}
    downloads = (
        Download(f"{mirror}/{name}.gz", files[f"{folder}/{name}"][1], folder) for name in FILES
    )
    return {**sizes, "files": files, "downloads": tuple(downloads)}


@dataset("mnist", **facts(MNIST, "https://ossci-datasets.s3.amazonaws.com/mnist"))
def read_mnist(root: Path) -> Arrays:
    """Read MNIST."""
    return arrays(root / MNIST)


MIRROR = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"


@dataset("fashion_mnist", **facts(FASHION_MNIST, MIRROR))
def read_fashion_mnist(root: Path) -> Arrays:
    """Read Fashion-MNIST."""
    return arrays(root / FASHION_MNIST)


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
