"""Reads data sets, and the arrays of a NumPy ``.npz`` file, into memory."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from ngo.common.fields import brought
from ngo.common.files import reading
from ngo.common.lazy import torch
from ngo.common.memory import check_declared
from ngo.common.registries import DATASETS
from ngo.data.dataset import Arrays, Dataset, Source
from ngo.data.download import prepare
from verdicts.files import regular_file
from verdicts.registry import UserError, in_a_line, unknown


def load(
    name: str, root: Path, device: str | torch.device = "cpu", run: object | None = None
) -> Dataset:
    """Return the data set as tensors on ``device``. Absent files are downloaded.

    The options of the data set are those of ``run``, or without one their defaults.
    """
    source = DATASETS[name]
    options = {} if run is None else {field: getattr(run, field) for field in source.fields}
    arrays = _read(name, source, root, options)
    tensors = (torch.from_numpy(array).to(device) for array in vars(arrays).values())
    mean = std = None
    if arrays.train_inputs.dtype == np.uint8:
        mean, std = (
            torch.from_numpy(moment.astype(np.float32)).to(device)[:, None, None]
            for moment in pixel_moments(arrays.train_inputs)
        )
    return Dataset(name, source.classes, *tensors, mean, std)


#: The most bytes of a user's data set that is read a second time.
READ_TWICE = 2**28


def _read(name: str, source: Source, root: Path, options: dict[str, object]) -> Arrays:
    """The arrays; a UserError if a user's function returns others when it is called again."""
    folder = prepare(name, root)

    def read() -> Arrays:
        return checked_arrays(name, source, source.read(folder, **options), root)

    def digest(arrays: Arrays) -> list[bytes]:
        return [sha256(array).digest() for array in vars(arrays).values()]

    arrays = read()
    size = sum(array.nbytes for array in vars(arrays).values())
    if brought(DATASETS, name) and size <= READ_TWICE:
        first = digest(arrays)
        if digest(arrays := read()) != first:
            wanted = "the same; draw from np.random.default_rng(0), for example"
            raise _wrong(name, "it has other values when it is read again", wanted)
    return arrays


def train_labels(name: str, root: Path) -> np.ndarray:
    """Return the labels of the training samples, int64 ``[m]``; zeros for regression data.

    Does not import torch. Absent files are downloaded.
    """
    return DATASETS[name].labels(prepare(name, root))


def checked_arrays(name: str, source: Source, arrays: Arrays, root: Path) -> Arrays:
    """Return ``arrays`` in the types that training takes; a UserError if ``source`` differs.

    Floating-point arrays become float32, integer targets int64.
    """
    if not isinstance(arrays, Arrays):
        raise _wrong(name, f"its function returned a {type(arrays).__name__}", "ngo.Arrays")
    cast = Arrays(**{key: _cast(name, key, array) for key, array in vars(arrays).items()})
    for part in ("train", "test"):
        inputs, targets = getattr(cast, f"{part}_inputs"), getattr(cast, f"{part}_targets")
        if not inputs.size:
            raise _wrong(name, f"{part}_inputs are empty", "one sample or more")
        if not inputs.ndim or not targets.ndim:
            raise _wrong(name, f"{part}_inputs or {part}_targets is a single number", "arrays")
        if inputs.shape[1:] != tuple(source.input_shape):
            raise _wrong(name, f"{part}_inputs have shape {inputs.shape}", source.input_shape)
        if len(inputs) != len(targets):
            raise _wrong(name, f"there are {len(targets)} {part}_targets", f"{len(inputs)}")
        if (source.classes is None) == (targets.dtype.kind == "i"):
            kind = "float32 values" if source.classes is None else "int64 labels"
            raise _wrong(name, f"{part}_targets are {targets.dtype}", kind)
        if source.classes is None:
            continue
        if targets.ndim != 1:
            raise _wrong(name, f"{part}_targets have shape {targets.shape}", "one label a sample")
        if len(targets) and not 0 <= targets.min() <= targets.max() < source.classes:
            labels = f"{targets.min()} to {targets.max()}"
            raise _wrong(name, f"{part}_targets are {labels}", f"0 to {source.classes - 1}")
    samples = len(cast.train_inputs)
    if samples != source.train_samples and source.note(root) is None:
        raise _wrong(name, f"there are {samples:,} training samples", f"{source.train_samples:,}")
    return cast


def pixel_moments(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each channel ``[c]`` of uint8 ``images``, as shares of 255.

    The sums are exact. They are taken in chunks, so that the squares need little memory.
    """
    pixels, total, squares = images.size // images.shape[1], 0, 0
    for start in range(0, len(images), 1000):
        chunk = images[start : start + 1000]
        total += chunk.sum((0, 2, 3), dtype=np.uint64)
        squares += np.square(chunk, dtype=np.uint16).sum((0, 2, 3), dtype=np.uint64)
    mean = total / pixels
    return mean / 255, np.sqrt(squares / pixels - mean**2) / 255


def _cast(name: str, key: str, array: np.ndarray) -> np.ndarray:
    if isinstance(array, np.ma.MaskedArray):
        raise _wrong(name, f"{key} are a masked array", "values without a mask")
    try:
        array = np.ascontiguousarray(array)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists, tensors of some kinds
        raise _wrong(name, f"{key} are no array ({in_a_line(error)})", "a NumPy array") from None
    if array.dtype == np.uint8 and array.ndim == 4 and key.endswith("inputs"):
        return array
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            cast = array.astype(np.float32, copy=False)
        lost = int(np.isfinite(array).sum()) - int(np.isfinite(cast).sum())
        if lost:
            raise _wrong(name, f"{lost:,} of {key} are not finite in float32", "up to 3.4e38")
        return cast
    if array.dtype.kind in "iu" and key.endswith("targets"):
        return array.astype(np.int64, copy=False)
    allowed = "uint8 images [m, c, h, w] or float32" if key.endswith("inputs") else "numbers"
    raise _wrong(name, f"{key} are {array.dtype} of shape {array.shape}", allowed)


def _wrong(name: str, mistake: str, wanted: object) -> UserError:
    return UserError(f"dataset {name!r}: {mistake}; expected {wanted}.")


def read_arrays(
    path: Path, names: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """The arrays ``names``, and those of the ``optional`` ones that the file has.

    Nothing in a file is executed, and sizes are checked before memory is taken. Raises a one-line
    UserError for an absent array and for a damaged file.
    """
    regular_file(path, "data.root")
    with reading(f"data.root: {str(path)!r} can't be read"):
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
