"""The idx format of MNIST's files, plain or compressed."""

import gzip
import math
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ngo.common.registry import UserError
from ngo.common.untrusted import check_declared
from ngo.data.dataset import Arrays, Download

# MNIST's files: the training and the test images, each with their labels.
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def plain_or_compressed(path: Path) -> Path | None:
    """``path`` if it is a file, else ``path.gz`` if that is one, else None."""
    return next((p for p in (path, Path(f"{path}.gz")) if p.is_file()), None)


def read_idx(path: Path) -> np.ndarray:
    """Read an idx file of bytes, plain or with the suffix ``.gz``, as a uint8 array.

    Format: two zero bytes, the type (8 = unsigned byte), the number of dimensions, each dimension
    as a big-endian int32, the data.
    """
    found = plain_or_compressed(path)
    if found is None:
        raise UserError(f"data.root: neither {str(path)!r} nor {path.name}.gz exists")
    try:
        with (gzip.open if found.suffix == ".gz" else open)(found, "rb") as file:
            shape = _read_shape(file)
            size = math.prod(shape)
            check_declared(found, "data.root", size)
            data = file.read(size + 1)
        if len(data) != size:
            raise ValueError("the header does not match the content")
        return np.frombuffer(data, np.uint8).reshape(shape).copy()
    except (EOFError, MemoryError, OSError, ValueError, struct.error, zlib.error) as error:
        reason = str(error) or "it needs too much memory"
        raise UserError(
            f"data.root: {str(found)!r} is not an idx file of bytes: {reason}"
        ) from None


def mnist_facts(folder: str, mirror: str, sums: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """What is known of a data set with MNIST's files and sizes, as ``dataset`` takes it.

    ``sums`` are the md5 sums of each of the FILES: plain and compressed.
    """
    md5 = dict(zip(FILES, sums, strict=True))
    return {
        "train_samples": 60_000,
        "input_shape": (1, 28, 28),
        "classes": 10,
        "files": {f"{folder}/{name}": both for name, both in md5.items()},
        "downloads": tuple(
            Download(f"{mirror}/{name}.gz", compressed, folder)
            for name, (_, compressed) in md5.items()
        ),
    }


def mnist_arrays(folder: Path) -> Arrays:
    """All images and labels of a data set with MNIST's files, which are in ``folder``."""
    images, labels, test_images, test_labels = (read_idx(folder / name) for name in FILES)
    return Arrays(
        images[:, None],
        labels.astype(np.int64),
        test_images[:, None],
        test_labels.astype(np.int64),
    )


def _read_shape(file: BinaryIO) -> tuple[int, ...]:
    zero, kind, dimensions = struct.unpack(">HBB", file.read(4))
    shape = struct.unpack(f">{dimensions}i", file.read(4 * dimensions))
    if (zero, kind) != (0, 8) or not shape:
        raise ValueError("the header does not match the content")
    if min(shape) < 0:
        raise ValueError(f"its dimensions are {list(shape)[:8]}, and none may be negative")
    return shape
