"""Arrays by name in a NumPy ``.npz`` file or a HDF5 file."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ngo.common.registry import UserError, nearest

HDF5 = (".h5", ".hdf5")
SUFFIXES = (".npz", *HDF5)

# Whether the last axis of images is that of colours: grey, colours, colours with transparency.
COLOURS = (1, 3, 4)


def array_names(path: Path) -> list[str]:
    """The names of the arrays in a file."""
    with _opened(path) as arrays:
        return sorted(arrays)


def read_arrays(path: Path, *names: str) -> list[np.ndarray]:
    """The arrays with these names; a one-line UserError for one that is absent or damaged."""
    with _opened(path) as arrays:
        for name in names:
            if name not in arrays:
                raise UserError(
                    f"data.root: {str(path)!r} has no array {name!r}; it has "
                    f"{', '.join(sorted(arrays)) or 'none'}.{nearest(name, arrays)}"
                )
        return [np.asarray(arrays[name][()]) for name in names]


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
def _opened(path: Path) -> Iterator[Mapping]:
    try:
        with _open(path) as arrays:
            yield arrays
    except UserError:
        raise
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"data.root: {str(path)!r} can't be read: {error}") from None


def _open(path: Path) -> Mapping:
    if path.suffix not in HDF5:
        return np.load(path, allow_pickle=False)
    try:
        import h5py
    except ImportError:
        raise UserError(
            f"data.root: {str(path)!r} is a HDF5 file, which needs h5py: pip install h5py"
        ) from None
    return h5py.File(path)
