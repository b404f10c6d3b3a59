"""Arrays by name in a NumPy ``.npz`` file."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ngo.common.memory import check_declared
from verdicts.files import regular_file
from verdicts.registry import UserError, in_a_line, unknown


def read_arrays(
    path: Path, names: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """The arrays ``names``, and those of the ``optional`` ones that the file has.

    Nothing in a file is executed, and sizes are checked before memory is taken. Raises a one-line
    UserError for an absent array and for a damaged file.
    """
    regular_file(path, "data.root")
    try:
        with zipfile.ZipFile(path) as file:
            check_declared(path, "data.root", sum(member.file_size for member in file.infolist()))
        with np.load(path, allow_pickle=False) as file:
            known = file.files
            if absent := [name for name in names if name not in known]:
                raise unknown(f"data.root: an array of {str(path)!r}", absent[0], known)
            arrays = {name: file[name] for name in (*names, *optional) if name in known}
            if other := [name for name, array in arrays.items() if isinstance(array, bytes)]:
                raise ValueError(f"{other[0]!r} is no array")
            return arrays
    except UserError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise many types for damaged files
        raise UserError(f"data.root: {str(path)!r} can't be read: {in_a_line(error)}") from None
