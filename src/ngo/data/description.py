"""Data sets that a YAML file describes: arrays in a NumPy ``.npz`` file.

``ngo describe`` writes the description: facts, so that the check of a config reads no data, and the
digest of the file. A run stops if the file has another digest.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ngo.common.fields import LARGEST
from ngo.common.registries import DATASETS
from ngo.data.dataset import Arrays, Source
from ngo.data.download import digest
from ngo.data.loading import checked_arrays, read_arrays
from ngo.data.partition import OWNERS
from verdicts.files import check_keys, read_mapping
from verdicts.registry import Registry, UserError, check

#: The arrays that a file must have.
ARRAYS = ("x_train", "y_train", "x_test", "y_test")

#: The array with the owner of each training sample; a file may lack it.
OWNER = "owner_train"

SUFFIX = ".npz"

# The largest numbers of classes, and of values of one sample.
MOST_CLASSES = 10**6
MOST_VALUES = 2**28

# Numbers of channels of images: grey, colours, colours with transparency.
CHANNELS = (1, 3, 4)


@dataclass(frozen=True)
class Description:
    """The content of a YAML file about a data set."""

    dataset: str
    #: The path is absolute, or below the data root.
    file: str
    train_samples: int
    input_shape: tuple[int, ...]
    #: None for regression data.
    classes: int | None
    #: Of the file.
    sha256: str
    #: Whether the file says who owns each training sample.
    owners: bool = False


#: All described data sets, by name.
DESCRIBED: Registry[Description] = Registry("described data set")


def identity(dataset: str) -> dict[str, object] | None:
    """All that decides the arrays of a described data set: neither its name nor its place.

    None for other data sets.
    """
    if dataset not in DESCRIBED:
        return None
    facts = {**asdict(DESCRIBED[dataset]), "input_shape": list(DESCRIBED[dataset].input_shape)}
    return {name: fact for name, fact in facts.items() if name not in ("dataset", "file")}


def register(path: Path, key: str) -> None:
    """Register the data set that the YAML file at ``path`` describes.

    A UserError, under ``key``, if the file is not a description.
    """
    described = parsed(f"{key}: {path.name!r}", read_mapping(path, key))
    name = described.dataset
    if DESCRIBED.get(name, described) != described:
        raise UserError(f"{key}: {path.name!r}: another file describes {name!r} already.")
    DATASETS.add(name, source_of(described), definition=register)
    DESCRIBED[name] = described
    if described.owners:
        OWNERS.add(name, lambda root: _arrays(described, root, OWNER)[OWNER], register)


def source_of(described: Description) -> Source:
    """The facts about the data set before it is read, and its readers."""

    def labels(root: Path) -> np.ndarray:
        return as_targets(_arrays(described, root, "y_train")["y_train"])

    def read(root: Path) -> Arrays:
        return as_samples(_arrays(described, root, *ARRAYS))

    facts = described.train_samples, described.input_shape, described.classes
    return Source(read, *facts, read_labels=labels, files={described.file: (described.sha256,)})


def as_samples(arrays: Mapping[str, np.ndarray]) -> Arrays:
    """The ``ARRAYS`` of a file as samples."""
    x_train, y_train, x_test, y_test = (arrays[name] for name in ARRAYS)
    return Arrays(as_inputs(x_train), as_targets(y_train), as_inputs(x_test), as_targets(y_test))


def as_inputs(array: np.ndarray) -> np.ndarray:
    """Images as uint8 ``[m, channels, height, width]``; other arrays as they are.

    Images may come as uint8 ``[m, height, width]`` or ``[m, height, width, channels]``.
    """
    if array.dtype == np.uint8 and array.ndim == 3:
        return array[:, None]
    if array.dtype == np.uint8 and array.ndim == 4:
        last = array.shape[3] in CHANNELS and array.shape[1] not in CHANNELS
        return np.moveaxis(array, 3, 1) if last else array
    return array


def as_targets(array: np.ndarray) -> np.ndarray:
    """Whole numbers as labels ``[m]``, and other numbers as ``[m, k]``."""
    if array.dtype.kind in "iu":
        return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    return array[:, None] if array.ndim == 1 else array


def _arrays(described: Description, root: Path, *names: str) -> dict[str, np.ndarray]:
    return read_arrays(root / described.file, names)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: object, least: int = 1, most: int = LARGEST) -> bool:
    return type(value) is int and least <= value <= most


def _is_shape(value: object) -> bool:
    sizes = value if isinstance(value, list) and 0 < len(value) <= 8 else [0]
    return all(map(_is_count, sizes)) and math.prod(sizes) <= MOST_VALUES


# Each key of a description: whether a value is allowed, and what is.
_KEYS: dict[str, tuple[Callable[[Any], object], str]] = {
    "dataset": (_is_text, "a name"),
    "file": (lambda x: _is_text(x) and x.endswith(SUFFIX), f"a path that ends in {SUFFIX}"),
    "train_samples": (_is_count, "a whole number, 1 or more, below 2^63"),
    "input_shape": (
        _is_shape,
        f"a list of 1 to 8 whole numbers, 1 or more, with a product of {MOST_VALUES:,} at most",
    ),
    "classes": (
        lambda x: x is None or _is_count(x, 2, MOST_CLASSES),
        f"2 to {MOST_CLASSES:,}, or null",
    ),
    "sha256": (lambda x: _is_text(x) and re.fullmatch("[0-9a-f]{64}", x), "64 hex digits"),
    "owners": (lambda value: isinstance(value, bool), "true or false"),
}


def parsed(key: str, values: Mapping[str, object]) -> Description:
    """The description with these ``values``.

    A UserError, under ``key``, for a wrong or missing value.
    """
    check_keys(key, values, _KEYS, [name for name in _KEYS if name != "owners"])
    for name, value in values.items():
        allowed, wanted = _KEYS[name]
        check(allowed(value), f"{key}: {name}", value, f"it must be {wanted}")
    return Description(**{**values, "input_shape": tuple(values["input_shape"])})


def manifest_text(name: str, samples: int) -> str:
    """The manifest, as JSON, of a data set with this number of training ``samples``."""
    facts = {"dataset": name, "train_samples": samples, "files": DATASETS[name].files}
    if name in DESCRIBED:
        facts["content"] = identity(name)
    return json.dumps(facts, indent=2) + "\n"


HEADER = """\
# A data set, described by `ngo describe`. Name this file among the plugins of a config, or with
# --plugin, and the data set by its name.
"""


def describe(place: Path, root: Path, name: str) -> dict[str, object]:
    """The description of the file at ``place`` as its YAML file has it.

    The data is read and checked once. A one-line UserError for data that cannot be used.
    """
    if place.suffix != SUFFIX:
        raise UserError(f"path: {str(place)!r} is no file of arrays ({SUFFIX}).")
    arrays = read_arrays(place, ARRAYS, [OWNER])
    labels = [arrays["y_train"], arrays["y_test"]]
    classes = None
    if labels[0].dtype.kind in "iu" and labels[0].size:
        classes = int(max(np.max(array, initial=0) for array in labels)) + 1
    file, base = Path(os.path.abspath(place)), Path(os.path.abspath(root))
    values = {
        "dataset": name,
        "file": (file.relative_to(base) if file.is_relative_to(base) else file).as_posix(),
        "train_samples": len(np.atleast_1d(arrays["x_train"])),
        "input_shape": list(as_inputs(arrays["x_train"]).shape[1:]),
        "classes": classes,
        "sha256": digest(place, "sha256"),
        "owners": OWNER in arrays,
    }
    described = parsed(f"path: {str(place)!r}", values)
    samples = checked_arrays(name, source_of(described), as_samples(arrays), root)
    for part, array in vars(samples).items():
        if not np.isfinite(array).all():
            raise UserError(f"path: {str(place)!r}: {part} has values that are not finite.")
    owned = arrays.get(OWNER, samples.train_targets).shape[:1]
    told = f"it must have an owner for each of the {described.train_samples} training samples"
    check(owned == (described.train_samples,), f"path: {str(place)!r}: {OWNER}", owned, told)
    return values


def as_text(values: Mapping[str, object]) -> str:
    """The text of a description's file."""
    return HEADER + yaml.safe_dump(dict(values), sort_keys=False, default_flow_style=None)
