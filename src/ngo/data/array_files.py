"""Arrays by name in a NumPy ``.npz`` file."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from ngo.common.files import check_names
from ngo.common.memory import check_declared
from ngo.common.registry import UserError, in_a_line, nearest
from verdicts.files import regular_file

SUFFIX = ".npz"

# Numbers of channels of images: grey, colours, colours with transparency.
COLOURS = (1, 3, 4)

# What zipfile and numpy raise for damaged files.
_DAMAGED = (
    *(OSError, EOFError, LookupError, ValueError, TypeError, RuntimeError, MemoryError),
    *(NotImplementedError, zipfile.BadZipFile, zlib.error, tokenize.TokenError),
)

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def array_names(path: Path) -> list[str]:
    """The names of the arrays in a file."""
    with _opened(path) as (_, names):
        return sorted(names)


def read_arrays(path: Path, *names: str) -> list[np.ndarray]:
    """The arrays with these names; a one-line UserError for one that is absent or damaged.

    Nothing in a file is executed, and a size is checked before memory is taken.
    """
    with _opened(path) as (file, known):
        for name in names:
            if name not in known:
                every = sorted(known)
                listed = ", ".join([*every[:20], *["…"] * (len(every) > 20)]) or "none"
                raise UserError(
                    f"data.root: {str(path)!r} has no array {name!r}; it has "
                    f"{listed}.{nearest(name, every)}"
                )
        check_declared(path, "data.root", sum(_size(file, known[name]) for name in names))
        arrays = []
        for name in names:
            with file.open(known[name]) as member:
                arrays.append(npy.read_array(member, allow_pickle=False))
        return arrays


def as_inputs(array: np.ndarray) -> np.ndarray:
    """Images as uint8 ``[m, channels, height, width]``; other arrays as they are.

    Images may come as uint8 ``[m, height, width]`` or ``[m, height, width, channels]``.
    """
    if array.dtype == np.uint8 and array.ndim == 3:
        return array[:, None]
    if array.dtype == np.uint8 and array.ndim == 4:
        last = array.shape[3] in COLOURS and array.shape[1] not in COLOURS
        return np.moveaxis(array, 3, 1) if last else array
    return array


def as_targets(array: np.ndarray) -> np.ndarray:
    """Whole numbers as labels ``[m]``, and other numbers as ``[m, k]``."""
    if array.dtype.kind in "iu":
        return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    return array[:, None] if array.ndim == 1 else array


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, str]]]:
    """The file, and the names of the arrays, each with that of its member."""
    regular_file(path, "data.root")
    try:
        with zipfile.ZipFile(path) as file:
            names = {name.removesuffix(".npy"): name for name in file.namelist()}
            check_names(path, "data.root", list(names))
            yield file, names
    except UserError:
        raise
    except _DAMAGED as error:
        raise UserError(f"data.root: {str(path)!r} can't be read: {in_a_line(error)}") from None


def _size(archive: zipfile.ZipFile, name: str) -> int:
    """The size of a member's array in bytes; a ValueError if its data has another size."""
    info = archive.getinfo(name)
    with archive.open(info) as file:
        read = _HEADERS.get(npy.read_magic(file))
        if read is None:
            raise ValueError(f"{name!r} has an unknown version of the npy format")
        shape, _, dtype = read(file)
        if min(shape, default=0) < 0:
            raise ValueError(f"{name!r} has negative dimensions")
        size, held = math.prod(shape) * dtype.itemsize, info.file_size - file.tell()
    if not dtype.hasobject and size != held:
        raise ValueError(f"{name!r} declares {size} bytes, and there are {held}")
    return size
