"""Writes the description of a data set (see ``described``) from the facts in its files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ngo.common.registry import UserError
from ngo.data import array_files, image_folder
from ngo.data.described import OWNER, ROLES, digest, parsed, source_of
from ngo.data.loading import checked_arrays

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
    found = parsed(f"path: {str(place)!r}", values)
    source = source_of(found)
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
    x_train, y_train, _, y_test = found = array_files.read_arrays(place, *names)
    for name, array in zip(names, found, strict=True):
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
