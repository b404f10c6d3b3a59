"""Data sets that a YAML file describes: a folder of images, or a file of arrays.

``ngo describe`` writes the description. It has all the facts that a config is checked against, so
that a check reads no data. It also has a digest of the data: a run stops if its data has another
digest.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from ngo.common.fields import LARGEST
from ngo.common.registry import Registry, UserError, shown, unknown
from ngo.data import array_files, image_folder
from ngo.data.dataset import DATASETS, Arrays, Source
from ngo.data.download import content_digest
from ngo.data.loading import checked_arrays
from ngo.data.partition import OWNERS

# The arrays that a file must have. A description may give them other names.
ROLES = ("x_train", "y_train", "x_test", "y_test")

# The array that says who owns each training sample.
OWNER = "owner_train"

# The largest numbers of classes, and of values of one sample.
MOST_CLASSES = 10**6
MOST_VALUES = 2**28


@dataclass(frozen=True)
class Description:
    """What a YAML file says of a data set."""

    dataset: str
    train_samples: int
    input_shape: tuple[int, ...]
    #: None for regression data.
    classes: int | None
    #: See ``content.content_digest``.
    sha256: str
    #: A file of arrays, or else a folder of images. The path is absolute, or below the data root.
    file: str | None = None
    folder: str | None = None
    #: The names of a file's arrays by role, where they differ from the roles.
    arrays: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, object]:
        """What decides the arrays: everything but the name of the data set and its place."""
        return {
            "sha256": self.sha256,
            "arrays": dict(self.arrays),
            "train_samples": self.train_samples,
            "input_shape": list(self.input_shape),
            "classes": self.classes,
        }

    def place(self, root: Path) -> Path:
        """The file or folder."""
        return root / (self.file or self.folder)


#: All described data sets, by name.
DESCRIBED: Registry[Description] = Registry("described data set")


def identity(dataset: str) -> dict[str, object] | None:
    """The ``identity`` of a described data set, its digest included; None for other data sets."""
    described = DESCRIBED.get(dataset)
    return described and described.identity


def register(path: Path, key: str) -> None:
    """Register the data set that the YAML file at ``path`` describes.

    A UserError, under ``key``, if the file is not a description.
    """
    from verdicts.files import read_mapping

    described = parsed(f"{key}: {path.name!r}", read_mapping(path, key))
    name = described.dataset
    if DESCRIBED.get(name, described) != described:
        raise UserError(f"{key}: {path.name!r}: another file describes {name!r} already.")
    DATASETS.add(name, source_of(described), definition=read_described)
    DESCRIBED[name] = described
    if OWNER in described.arrays:
        OWNERS.add(name, partial(read_described_owners, described), read_described_owners)


def source_of(described: Description) -> Source:
    """What is known of the data set before it is read, and its readers."""
    return Source(
        read=partial(read_described, described),
        read_labels=partial(read_described_labels, described),
        train_samples=described.train_samples,
        input_shape=described.input_shape,
        classes=described.classes,
        files={described.file: ()} if described.file else {},
        folder=described.folder,
    )


def read_described(described: Description, root: Path) -> Arrays:
    """The arrays of a described data set, in the types of ``Arrays``."""
    place = _verified(described, root)
    if described.folder:
        images = image_folder.list_images(place)
        decoded = image_folder.read_images(place, images, described.input_shape, described.sha256)
        return Arrays(decoded[0], images.train_labels, decoded[1], images.test_labels)
    x_train, y_train, x_test, y_test = array_files.read_arrays(place, *_names(described, *ROLES))
    return Arrays(
        array_files.as_inputs(x_train),
        array_files.as_targets(y_train),
        array_files.as_inputs(x_test),
        array_files.as_targets(y_test),
    )


def read_described_labels(described: Description, root: Path) -> np.ndarray:
    """The labels of the training samples, int64 ``[m]``; zeros for regression data."""
    place = _verified(described, root)
    if described.classes is None:
        return np.zeros(described.train_samples, np.int64)
    if described.folder:
        return image_folder.list_images(place).train_labels
    (labels,) = array_files.read_arrays(place, *_names(described, "y_train"))
    return array_files.as_targets(labels).astype(np.int64)


def read_described_owners(described: Description, root: Path) -> np.ndarray:
    """The owner of each training sample, ``[m]``."""
    place = _verified(described, root)
    (owners,) = array_files.read_arrays(place, *_names(described, OWNER))
    return owners


def check_content(dataset: str, root: Path) -> None:
    """Raise a UserError if a described data set has changed; other data sets pass."""
    if dataset in DESCRIBED:
        _verified(DESCRIBED[dataset], root)


def digest(place: Path) -> str:
    """The digest of a folder of images, or of a file."""
    try:
        files = image_folder.list_images(place).files if place.is_dir() else ()
        return content_digest(place, files)
    except OSError as error:
        raise UserError(f"data.root: {str(place)!r} can't be read: {error.strerror}.") from None


def _verified(described: Description, root: Path) -> Path:
    """The file or folder; a UserError unless its content is the described one."""
    place = described.place(root)
    if (now := digest(place)) != described.sha256:
        raise UserError(
            f"data.root: the content of {str(place)!r} is not the described one: its digest is "
            f"{now[:12]}…, that of {described.dataset} {described.sha256[:12]}…; restore it, or "
            f"describe it again (ngo describe)."
        )
    return place


def _names(described: Description, *roles: str) -> list[str]:
    return [described.arrays.get(role, role) for role in roles]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: object, least: int = 1, most: int = LARGEST) -> bool:
    return type(value) is int and least <= value <= most


def _is_shape(value: object) -> bool:
    sizes = value if isinstance(value, list) and 0 < len(value) <= 8 else [0]
    return all(map(_is_count, sizes)) and math.prod(sizes) <= MOST_VALUES


def _is_names(value: object) -> bool:
    known = {*ROLES, OWNER}
    return isinstance(value, dict) and value.keys() <= known and all(map(_is_text, value.values()))


# Each key of a description: whether a value is allowed, and what is.
_KEYS: dict[str, tuple[Callable[[object], bool], str]] = {
    "dataset": (_is_text, "a name"),
    "file": (_is_text, f"a path that ends in {array_files.SUFFIX}"),
    "folder": (_is_text, "a path"),
    "arrays": (_is_names, f"a mapping of {', '.join([*ROLES, OWNER])} to names in the file"),
    "train_samples": (_is_count, "a whole number, 1 or more, below 2^63"),
    "input_shape": (
        _is_shape,
        f"a list of 1 to 8 whole numbers, 1 or more, with a product of {MOST_VALUES:,} at most",
    ),
    "classes": (
        lambda value: value is None or _is_count(value, 2, MOST_CLASSES),
        f"2 to {MOST_CLASSES:,}, or null",
    ),
    "sha256": (
        lambda value: _is_text(value) and re.fullmatch("[0-9a-f]{64}", value) is not None,
        "64 hex digits",
    ),
}
_OPTIONAL = ("file", "folder", "arrays")


def parsed(key: str, values: Mapping[str, object]) -> Description:
    """The description with these ``values``.

    A UserError that starts with ``key`` for a value that is wrong or missing.
    """
    for name, value in values.items():
        if name not in _KEYS:
            raise unknown(key, name, _KEYS)
        allowed, wanted = _KEYS[name]
        if not allowed(value):
            raise UserError(f"{key}: {name}: {shown(value)} is not allowed; it must be {wanted}.")
    for name in _KEYS:
        if name not in values and name not in _OPTIONAL:
            raise UserError(f"{key}: {name!r} is missing; ngo describe writes a description.")
    if ("file" in values) == ("folder" in values):
        raise UserError(f"{key}: name a file or a folder, and not both.")
    if not values.get("file", ".npz").endswith(array_files.SUFFIX):
        raise UserError(f"{key}: file: {values['file']!r} must be {_KEYS['file'][1]}.")
    shape = tuple(values["input_shape"])
    if "folder" in values and not (len(shape) == 3 and shape[0] in image_folder.MODES):
        raise UserError(
            f"{key}: input_shape: {list(shape)} is not [channels, height, width] with 1 or 3 "
            f"channels, which the images of a folder need."
        )
    return Description(**{**values, "input_shape": shape})


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


def describe(
    place: Path,
    root: Path,
    *,
    name: str,
    size: tuple[int, int] | None = None,
    grey: bool = False,
    arrays: Mapping[str, str] | None = None,
) -> dict[str, object]:
    """The description of a folder of images, or of a file of arrays, as its YAML file has it.

    ``size`` is the height and the width to which the images of a folder are resized. If ``grey``,
    they have one channel instead of three. ``arrays`` are names of a file's arrays by role. The
    data is read and checked once. A one-line UserError for data that cannot be used.
    """
    if not place.exists():
        raise UserError(f"path: {str(place)!r} does not exist.")
    if place.is_dir() and arrays:
        raise UserError(f"array: {str(place)!r} is a folder of images, which has no named arrays.")
    if not place.is_dir() and (size is not None or grey):
        key = "grey" if size is None else "size"
        raise UserError(f"{key}: {str(place)!r} is not a folder of images, and only they have it.")
    facts = _of_folder(place, size, grey) if place.is_dir() else _of_file(place, arrays or {})
    kind = "folder" if place.is_dir() else "file"
    values = {"dataset": name, kind: _below(root, place), **facts, "sha256": digest(place)}
    described = parsed(f"path: {str(place)!r}", values)
    source = source_of(described)
    checked_arrays(name, source, source.read(root), root)
    return values


def as_text(values: Mapping[str, object]) -> str:
    """The text of a description's file."""
    import yaml

    return HEADER + yaml.safe_dump(dict(values), sort_keys=False, default_flow_style=None)


def _below(root: Path, place: Path) -> str:
    """The path of ``place`` below the data root; if it is elsewhere, its absolute path."""
    absolute, base = Path(os.path.abspath(place)), Path(os.path.abspath(root))
    inside = absolute.is_relative_to(base) and absolute != base
    return (absolute.relative_to(base) if inside else absolute).as_posix()


def _of_folder(place: Path, size: tuple[int, int] | None, grey: bool) -> dict[str, object]:
    if size is None:
        raise UserError("size: images need a height and a width, such as --size 32 32.")
    images = image_folder.list_images(place)
    return {
        "train_samples": len(images.train),
        "input_shape": [1 if grey else 3, *size],
        "classes": len(images.classes),
    }


def _of_file(place: Path, arrays: Mapping[str, str]) -> dict[str, object]:
    if place.suffix != array_files.SUFFIX:
        raise UserError(
            f"path: {str(place)!r} is neither a folder of images nor a file of arrays "
            f"({array_files.SUFFIX})."
        )
    named = dict(arrays)
    if OWNER in array_files.array_names(place):
        named = {OWNER: OWNER, **named}
    names = [named.get(role, role) for role in ROLES]
    x_train, y_train, _, y_test = loaded = array_files.read_arrays(place, *names)
    for name, array in zip(names, loaded, strict=True):
        if array.dtype.kind not in "iuf" or not array.ndim:
            raise UserError(
                f"path: {str(place)!r}: {name} is {array.dtype} of shape {array.shape}; it must be "
                "an array of numbers."
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise UserError(f"path: {str(place)!r}: {name} has values that are not finite.")
    classes = None
    if y_train.dtype.kind in "iu" and y_train.size:
        classes = int(max(np.max(y_train), np.max(y_test, initial=0))) + 1
    if OWNER in named:
        _check_owners(place, named[OWNER], len(x_train))
    facts = {
        "train_samples": len(x_train),
        "input_shape": list(array_files.as_inputs(x_train).shape[1:]),
        "classes": classes,
    }
    return {**({"arrays": named} if named else {}), **facts}


def _check_owners(place: Path, name: str, samples: int) -> None:
    """Raise a UserError unless the array ``name`` has an owner for each training sample."""
    (owners,) = array_files.read_arrays(place, name)
    if owners.shape != (samples,):
        raise UserError(
            f"array: {name!r} of {str(place)!r} has shape {owners.shape}; it must be ({samples},), "
            "an owner for each training sample."
        )
    if owners.dtype.kind not in "iuUSO":
        raise UserError(
            f"array: {name!r} of {str(place)!r} has values of type {owners.dtype}; owners must be "
            "whole numbers or names."
        )
