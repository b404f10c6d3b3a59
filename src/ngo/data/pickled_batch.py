"""Images and labels in the pickled files of CIFAR-10 and CIFAR-100."""

from __future__ import annotations

import io
import math
import pickle
from pathlib import Path
from typing import ClassVar

import numpy as np

from ngo.common.registry import UserError, in_a_line
from verdicts.files import regular_file


def read_batch(path: Path, labels: bytes, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The images, uint8 ``[m, 3, 32, 32]``, and labels, int64 ``[m]``, of one file.

    ``labels`` is the key of the labels. Nothing in the file is executed. A one-line UserError for
    a file that is not ``what``, such as ``a CIFAR-10 batch``.
    """
    regular_file(path, "data.root")
    try:
        content = _Unpickler(io.BytesIO(path.read_bytes()), encoding="bytes").load()
        images, own = content[b"data"].values, content[labels]
        if not isinstance(own, list) or not all(type(label) is int for label in own):
            raise ValueError("its labels are not a list of whole numbers")
        return images.reshape(-1, 3, 32, 32), np.array(own, np.int64)
    except Exception as error:  # a damaged pickle may raise anything
        raise UserError(f"data.root: {str(path)!r} is not {what}: {in_a_line(error)}") from None


class _Type:
    """Stands in for ``numpy.dtype``: only unsigned bytes."""

    def __init__(self, code: bytes | str, *_: object) -> None:
        if code not in ("u1", b"u1"):
            raise pickle.UnpicklingError(f"it asks for an array of {code!r}")

    def __setstate__(self, state: object) -> None:
        """Nothing is left to set."""


class _Array:
    """Stands in for ``numpy.ndarray``, which takes a hostile state for its own memory."""

    def __init__(self, *_: object) -> None:
        self.values = np.empty(0, np.uint8)

    def __setstate__(self, state: tuple) -> None:
        """Set the ``values`` from numpy's state: version, shape, type, order, bytes."""
        _, shape, kind, columns_first, data = state
        if not isinstance(kind, _Type) or min(shape) < 0 or math.prod(shape) != len(data):
            raise pickle.UnpicklingError("its array does not match its header")
        order = "F" if columns_first else "C"
        self.values = np.frombuffer(data, np.uint8).reshape(shape, order=order).copy()


class _Unpickler(pickle._Unpickler):
    """Unpickles arrays of bytes in built-in containers, and refuses everything else.

    It extends the unpickler in Python. The one in C takes memory for any position in its memo that
    a file names, and is no faster here.
    """

    dispatch: ClassVar = {
        code: load
        for code, load in pickle._Unpickler.dispatch.items()
        if code != pickle.BYTEARRAY8[0]  # it takes memory before there is any content
    }

    def find_class(self, module: str, name: str) -> object:
        """The stand-in for numpy's object of this name."""
        try:
            return _STAND_INS[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


_STAND_INS = {
    "numpy.ndarray": _Array,
    "numpy.dtype": _Type,
    "numpy.core.multiarray._reconstruct": _Array,
}
