"""The idx format of MNIST's files, plain or compressed."""

import gzip
import math
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ngo.common.registry import UserError
from ngo.common.untrusted import check_declared
from ngo.data.dataset import Arrays, Download


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


def mnist_files(folder: str, mirror: str, sums: Mapping[str, tuple[str, str]]) -> dict:
    """``files`` and ``downloads`` of a data set like MNIST.

    ``sums`` are the md5 sums of each file: plain and compressed.
    """
    return {
        "files": {f"{folder}/{name}": both for name, both in sums.items()},
        "downloads": tuple(
            Download(f"{mirror}/{name}.gz", compressed, folder, "gzip")
            for name, (_, compressed) in sums.items()
        ),
    }


def mnist_labels(folder: Path, part: str = "train") -> np.ndarray:
    """The labels of the training (``train``) or test (``t10k``) images in a folder like MNIST's."""
    return read_idx(folder / f"{part}-labels-idx1-ubyte").astype(np.int64)


def mnist_arrays(folder: Path) -> Arrays:
    """All images and labels in a folder like MNIST's."""
    return Arrays(
        read_idx(folder / "train-images-idx3-ubyte")[:, None],
        mnist_labels(folder),
        read_idx(folder / "t10k-images-idx3-ubyte")[:, None],
        mnist_labels(folder, "t10k"),
    )


def _read_shape(file: BinaryIO) -> tuple[int, ...]:
    zero, kind, dimensions = struct.unpack(">HBB", file.read(4))
    shape = struct.unpack(f">{dimensions}i", file.read(4 * dimensions))
    if (zero, kind) != (0, 8) or not shape:
        raise ValueError("the header does not match the content")
    if min(shape) < 0:
        raise ValueError(f"its dimensions are {list(shape)[:8]}, and none may be negative")
    return shape
