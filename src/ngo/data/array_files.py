"""Arrays by name in a NumPy ``.npz`` file or a HDF5 file."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib import format as npy

from ngo.common.registry import UserError, in_a_line, nearest
from ngo.common.untrusted import check_declared, check_names
from verdicts.files import regular_file

if TYPE_CHECKING:
    import h5py

HDF5 = (".h5", ".hdf5")
SUFFIXES = (".npz", *HDF5)

# Numbers of channels of images: grey, colours, colours with transparency.
COLOURS = (1, 3, 4)


def array_names(path: Path) -> list[str]:
    """The names of the arrays in a file."""
    with _opened(path) as arrays:
        return sorted(arrays.names)


def read_arrays(path: Path, *names: str) -> list[np.ndarray]:
    """The arrays with these names; a one-line UserError for one that is absent or damaged.

    Nothing in a file is executed, no other file is read, and a size is checked before memory is
    taken.
    """
    with _opened(path) as arrays:
        for name in names:
            if not arrays.has(name):
                known = sorted(arrays.names)
                listed = ", ".join([*known[:20], *["…"] * (len(known) > 20)]) or "none"
                raise UserError(
                    f"data.root: {str(path)!r} has no array {name!r}; it has "
                    f"{listed}.{nearest(name, known)}"
                )
        check_declared(path, "data.root", sum(arrays.size(name) for name in names))
        return [arrays.read(name) for name in names]


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
def _opened(path: Path) -> Iterator[_Npz | _Hdf5]:
    regular_file(path, "data.root")
    try:
        arrays = _Hdf5(path) if path.suffix in HDF5 else _Npz(path)
        with arrays.file:
            check_names(path, "data.root", list(arrays.names))
            yield arrays
    except UserError:
        raise
    except _DAMAGED as error:
        raise UserError(f"data.root: {str(path)!r} can't be read: {in_a_line(error)}") from None


# What zipfile, numpy and h5py raise for damaged files.
_DAMAGED = (
    *(OSError, EOFError, LookupError, ValueError, TypeError, RuntimeError, MemoryError),
    *(NotImplementedError, zipfile.BadZipFile, zlib.error, tokenize.TokenError),
)


class _Npz:
    """The arrays of a ``.npz`` file."""

    def __init__(self, path: Path) -> None:
        self.file = zipfile.ZipFile(path)
        # The arrays' names, each with that of its member.
        self.names = {name.removesuffix(".npy"): name for name in self.file.namelist()}

    def has(self, name: str) -> bool:
        """Whether the file has an array of this name."""
        return name in self.names

    def size(self, name: str) -> int:
        """The size of an array in bytes; a ValueError if its data has another size."""
        info = self.file.getinfo(self.names[name])
        with self.file.open(info) as file:
            read = _HEADERS.get(npy.read_magic(file))
            if read is None:
                raise ValueError(f"{name!r} has an unknown version of the npy format")
            shape, _, dtype = read(file)
            if min(shape, default=0) < 0:
                raise ValueError(f"{name!r} has negative dimensions")
            size, found = math.prod(shape) * dtype.itemsize, info.file_size - file.tell()
        if not dtype.hasobject and size != found:
            raise ValueError(f"{name!r} declares {size} bytes, and there are {found}")
        return size

    def read(self, name: str) -> np.ndarray:
        """An array; a ValueError if it is pickled."""
        with self.file.open(self.names[name]) as file:
            return npy.read_array(file, allow_pickle=False)


_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class _Hdf5:
    """The arrays of a HDF5 file whose data is in the file itself."""

    def __init__(self, path: Path) -> None:
        try:
            import h5py
        except ImportError:
            raise UserError(
                f"data.root: {str(path)!r} is a HDF5 file, which needs h5py: pip install h5py"
            ) from None
        self._h5py, self.file = h5py, h5py.File(path, "r")
        self.names = self.file.keys()

    def has(self, name: str) -> bool:
        """Whether the file has an object, or a link, of this name."""
        return self._link(name) is not None

    def size(self, name: str) -> int:
        """The size of an array in bytes."""
        return self._array(name).nbytes

    def read(self, name: str) -> np.ndarray:
        """An array; a ValueError if it has its data in another file."""
        return np.asarray(self._array(name)[()])

    def _array(self, name: str) -> h5py.Dataset:
        """The array, not yet read; a ValueError if its data would come from another file."""
        if not isinstance(self._link(name), self._h5py.HardLink):
            raise ValueError(f"{name!r} is a link to another place")
        found = self.file[name]
        if not isinstance(found, self._h5py.Dataset) or found.shape is None:
            raise ValueError(f"{name!r} is not an array")
        if found.is_virtual or found.external:
            raise ValueError(f"{name!r} has its data in another file")
        if found.dtype.hasobject and self._h5py.check_string_dtype(found.dtype) is None:
            raise ValueError(f"{name!r} has values that are neither numbers nor text")
        return found

    def _link(self, name: str) -> object | None:
        """The link with this path, or the first link of the path that leads to another place.

        None if there is none. Links to other files are not followed.
        """
        parts, link = name.split("/"), None
        for k in range(len(parts)):
            link = self.file.get("/".join(parts[: k + 1]), getlink=True)
            if not isinstance(link, self._h5py.HardLink):
                break
        return link
