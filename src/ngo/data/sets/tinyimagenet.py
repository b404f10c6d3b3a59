"""Tiny ImageNet: a folder of JPEG files, decoded once into an array beside it.

Layout below the data root: ``tiny-imagenet-200/`` with ``wnids.txt`` (the WordNet ids of the
classes), ``train/<wnid>/images/*.JPEG``, ``val/images/*.JPEG`` and ``val/val_annotations.txt``. The
validation images are the test set, because the released test images have no labels.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ngo.common.files import atomic_file
from ngo.common.locks import file_lock
from ngo.common.paths import writable_folder
from ngo.common.registry import UserError
from ngo.common.untrusted import check_names, read_limited, regular_file
from ngo.data.array_files import read_arrays
from ngo.data.dataset import Arrays, Download, dataset
from ngo.data.decoding import decoded_images

FOLDER = "tiny-imagenet-200"
CACHE = f"{FOLDER}.npz"
CLASSES = 200
TEXT = 2**26  # bytes of a text file of the release, at most
TRAIN, TEST = 100_000, 10_000  # images of the release
SHAPE = (3, 64, 64)

_log = logging.getLogger("ngo")


@dataclass(frozen=True)
class Listing:
    """Image files, relative to the folder, and their labels (int64 ``[m]``), in the samples' order.

    A label is the position of the class's id among the sorted ids. Training images are sorted by
    class, then by name; test images by name.
    """

    train: list[str]
    train_labels: np.ndarray
    test: list[str]
    test_labels: np.ndarray


def list_images(root: Path) -> Listing:
    """List the images without opening one.

    Raises a UserError if a text file is absent or damaged, or if there are no images.
    """
    folder = root / FOLDER
    ids = sorted(set(read_limited(folder / "wnids.txt", "data.root", TEXT).split()))
    if len(ids) != CLASSES:
        raise UserError(
            f"data.root: {str(folder / 'wnids.txt')!r} lists {len(ids)} classes, not {CLASSES}"
        )
    if odd := [wnid for wnid in ids if not re.fullmatch(r"\w+", wnid)]:
        raise UserError(f"data.root: {str(folder / 'wnids.txt')!r}: {odd[0]!r} is no id.")
    by_class = [_list_folder(folder, f"train/{wnid}/images") for wnid in ids]
    test = _list_folder(folder, "val/images")
    classes = {wnid: label for label, wnid in enumerate(ids)}
    annotations = folder / "val" / "val_annotations.txt"
    label_of = {}
    for line in read_limited(annotations, "data.root", TEXT).splitlines():
        name, wnid, *_ = [*line.split("\t"), ""]
        if wnid not in classes:
            raise UserError(f"data.root: {str(annotations)!r} names no class in the line {line!r}")
        label_of[f"val/images/{name}"] = classes[wnid]
    if unknown := [name for name in test if name not in label_of]:
        raise UserError(f"data.root: {str(annotations)!r} has no line for {unknown[0]}")
    if not test or not any(by_class):
        raise UserError(
            f"data.root: {str(folder)!r} contains no {'training' if test else 'test'} images"
        )
    return Listing(
        [name for names in by_class for name in names],
        np.repeat(np.arange(CLASSES), [len(names) for names in by_class]),
        test,
        np.array([label_of[name] for name in test], np.int64),
    )


def missing_images(root: Path) -> str | None:
    """How many images of the release are present, in one line; None if all are."""
    found = list_images(root)
    parts = [("training", len(found.train), TRAIN), ("test", len(found.test), TEST)]
    present = [
        f"{count:,} of the release's {released:,} {part} images"
        for part, count, released in parts
        if count != released
    ]
    return f"tinyimagenet: only {' and '.join(present)} are present" if present else None


def read_tinyimagenet_labels(root: Path) -> np.ndarray:
    """The labels of the training images."""
    return list_images(root).train_labels


@dataset(
    "tinyimagenet",
    read_labels=read_tinyimagenet_labels,
    train_samples=TRAIN,
    input_shape=SHAPE,
    classes=CLASSES,
    folder=FOLDER,
    note=missing_images,
    downloads=(
        Download(
            "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
            "90528d7ca1a48142e341f4ef8d21d0de",
            unpack="zip",
        ),
    ),
)
def read_tinyimagenet(root: Path) -> Arrays:
    """Read the decoded images from the cache, or decode the JPEG files.

    The cache is valid for one list of file names and sizes. One process decodes at a time.
    """
    found = list_images(root)
    key = _cache_key(root / FOLDER, found.train + found.test)
    images = _read_cache(root / CACHE, key)
    if images is None:
        with file_lock(
            root / f".{FOLDER}.lock",
            on_wait=lambda: _log.warning("tinyimagenet: waiting for another process to decode it"),
        ):
            images = _read_cache(root / CACHE, key) or _decode(root, found, key)
    return Arrays(images[0], found.train_labels, images[1], found.test_labels)


def _list_folder(folder: Path, below: str) -> list[str]:
    """The JPEG files in a folder below ``folder``, sorted; none if the folder is absent."""
    try:
        names = os.listdir(folder / below)
    except (FileNotFoundError, NotADirectoryError):
        return []
    images = [name for name in names if name.endswith(".JPEG") and name[0] != "."]
    check_names(folder / below, "data.root", images)
    return sorted(f"{below}/{name}" for name in images)


def _cache_key(folder: Path, names: list[str]) -> str:
    """A digest of the files' names and sizes, in their order."""
    paths = (regular_file(folder / name, "data.root") for name in names)
    sizes = ((name, os.stat(path).st_size) for name, path in zip(names, paths, strict=True))
    lines = (f"{name} {size}\n" for name, size in sizes)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _read_cache(path: Path, key: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The training and test images in the cache; None if it is absent, damaged or outdated."""
    try:
        train, test, its = read_arrays(path, "train", "test", "key")
    except UserError:
        return None
    return (train, test) if str(its) == key else None


def _decode(root: Path, found: Listing, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Decode all images, and cache them if the data root is writable."""
    from tqdm import tqdm

    total = len(found.train) + len(found.test)
    title = f"tinyimagenet: decoding {total:,} images"
    _log.info(title)
    with tqdm(total=total, desc=title, unit=" images", leave=False, disable=None) as bar:
        images = []
        for names in (found.train, found.test):
            part = np.empty((len(names), *SHAPE), np.uint8)
            paths = [root / FOLDER / name for name in names]
            decoded = decoded_images(paths, "RGB")
            for own, path, image in zip(part, paths, decoded, strict=True):
                if image.size != SHAPE[:0:-1]:
                    width, height = image.size
                    raise UserError(f"data.root: {str(path)!r} is {width} × {height}, not 64 × 64")
                own[:] = np.asarray(image).transpose(2, 0, 1)
                bar.update()
            images.append(part)
    try:
        writable_folder(root, "data.root")
        with atomic_file(root / CACHE) as temporary:
            np.savez(temporary, train=images[0], test=images[1], key=key)
    except (OSError, UserError) as error:
        _log.warning(f"tinyimagenet: the decoded images are not cached: {error}")
    return images[0], images[1]
