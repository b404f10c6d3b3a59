"""The idx format of MNIST's files, plain or compressed."""

import gzip
import zlib
from pathlib import Path

import numpy as np

from ngo.common.registry import UserError


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
            content = file.read()
        zero, kind, dimensions = int.from_bytes(content[:2], "big"), content[2], content[3]
        shape = np.frombuffer(content, ">i4", dimensions, offset=4)
        data = np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions)
        if (zero, kind) != (0, 8) or data.size != shape.prod(dtype=np.int64):
            raise ValueError("the header does not match the content")
    except (EOFError, IndexError, OSError, ValueError, zlib.error) as error:
        raise UserError(f"data.root: {str(found)!r} is not an idx file of bytes: {error}") from None
    return data.reshape(shape).copy()
