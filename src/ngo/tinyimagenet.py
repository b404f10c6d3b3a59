"""TinyImageNet as released: a folder of JPEG files, decoded once into an array beside it.

Layout below the data root: ``tiny-imagenet-200/`` with ``wnids.txt`` (the classes' WordNet ids),
``train/<wnid>/images/*.JPEG``, ``val/images/*.JPEG`` and ``val/val_annotations.txt``. The released
test images have no labels: the validation images are the test set.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ngo.files import try_hold, whole_file, writable_folder
from ngo.registry import UserError

FOLDER = "tiny-imagenet-200"
CACHE = f"{FOLDER}.npz"
URL = "http://cs231n.stanford.edu/tiny-imagenet-200.zip"
MD5 = "90528d7ca1a48142e341f4ef8d21d0de"  # of the zip
CLASSES = 200
TRAIN, TEST = 100_000, 10_000  # images of the release
SHAPE = (3, 64, 64)


@dataclass(frozen=True)
class Listing:
    """Image files below the folder and their labels (int64 ``[m]``), in the order of the samples.

    A class is the position of its id among the sorted ids. Training images are ordered by class,
    then by name; test images by name.
    """

    train: list[str]
    train_labels: np.ndarray
    test: list[str]
    test_labels: np.ndarray


def listing(root: Path) -> Listing:
    """What lies in the folder; no image is opened.

    Raises a UserError for an absent or damaged text file, or where there are no images.
    """
    folder = root / FOLDER
    ids = sorted(set(_text(folder / "wnids.txt").split()))
    if len(ids) != CLASSES:
        raise UserError(
            f"data.root: {str(folder / 'wnids.txt')!r} lists {len(ids)} classes, not {CLASSES}"
        )
    by_class = [_images(folder, f"train/{wnid}/images") for wnid in ids]
    test = _images(folder, "val/images")
    classes = {wnid: label for label, wnid in enumerate(ids)}
    annotations = folder / "val" / "val_annotations.txt"
    label_of = {}
    for line in _text(annotations).splitlines():
        name, wnid, *_ = [*line.split("\t"), ""]
        if wnid not in classes:
            raise UserError(f"data.root: {str(annotations)!r} names no class in the line {line!r}")
        label_of[f"val/images/{name}"] = classes[wnid]
    if unknown := [name for name in test if name not in label_of]:
        raise UserError(f"data.root: {str(annotations)!r} has no line for {unknown[0]}")
    if not test or not any(by_class):
        raise UserError(
            f"data.root: {str(folder)!r} holds no {'training' if test else 'test'} images"
        )
    return Listing(
        [name for names in by_class for name in names],
        np.repeat(np.arange(CLASSES), [len(names) for names in by_class]),
        test,
        np.array([label_of[name] for name in test], np.int64),
    )


def note(root: Path) -> str | None:
    """What of the release is not there, in a line; None if all is."""
    found = listing(root)
    parts = [("training", len(found.train), TRAIN), ("test", len(found.test), TEST)]
    missing = [
        f"{there:,} of the release's {released:,} {part} images"
        for part, there, released in parts
        if there != released
    ]
    return f"tinyimagenet: {' and '.join(missing)} are there" if missing else None


def train_labels(root: Path) -> np.ndarray:
    """The labels of the training images, int64 ``[m]``."""
    return listing(root).train_labels


def read(root: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images (uint8 ``[m, 3, 64, 64]``) and labels, then those of the test set.

    The images come from the cached file, or from the JPEG files where the cache is absent or is of
    another list of files (names and sizes). One process decodes at a time; others wait for it.
    """
    found = listing(root)
    key = _key(root / FOLDER, found.train + found.test)
    images = _cached(root / CACHE, key)
    if images is None:
        with _turn(root):
            images = _cached(root / CACHE, key) or _decode(root, found, key)
    return images[0], found.train_labels, images[1], found.test_labels


def download(root: Path) -> None:
    """Fetch the release's zip, verify it and leave its folder below ``root``."""
    from torchvision.datasets.utils import download_and_extract_archive

    download_and_extract_archive(URL, str(root), md5=MD5, remove_finished=True)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"data.root: there is no {str(path)!r}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UserError(f"data.root: {str(path)!r} can't be read: {reason}") from None


def _images(folder: Path, below: str) -> list[str]:
    """The JPEG files of a folder below ``folder``, sorted; none where the folder is absent."""
    try:
        names = os.listdir(folder / below)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(f"{below}/{name}" for name in names if name.endswith(".JPEG") and name[0] != ".")


def _key(folder: Path, names: list[str]) -> str:
    """The digest of the files' names and sizes, in their order."""
    lines = (f"{name} {os.stat(folder / name).st_size}\n" for name in names)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _cached(path: Path, key: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The training and test images in the cached file; None if it is not of ``key``."""
    try:
        with np.load(path) as file:
            return (file["train"], file["test"]) if str(file["key"]) == key else None
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        return None


@contextmanager
def _turn(root: Path) -> Iterator[None]:
    """Wait until no other process decodes; where no lock can be made, don't."""
    file, waiting = None, False
    with suppress(OSError):
        while (file := try_hold(root / f".{FOLDER}.lock")) is None:
            if not waiting:
                print("tinyimagenet: another process decodes it: waiting", file=sys.stderr)
                waiting = True
            time.sleep(0.5)
    with file or nullcontext():
        yield


def _decode(root: Path, found: Listing, key: str) -> tuple[np.ndarray, np.ndarray]:
    from tqdm import tqdm

    total = len(found.train) + len(found.test)
    title = f"tinyimagenet: decoding {total:,} images"
    if not sys.stderr.isatty():
        print(title, file=sys.stderr)
    with tqdm(total=total, desc=title, unit=" images", leave=False, disable=None) as bar:
        images = []
        for names in (found.train, found.test):
            part = np.empty((len(names), *SHAPE), np.uint8)
            for image, name in zip(part, names, strict=True):
                image[:] = _pixels(root / FOLDER / name)
                bar.update()
            images.append(part)
    try:
        writable_folder(root, "data.root")
        with whole_file(root / CACHE) as temporary:
            np.savez(temporary, train=images[0], test=images[1], key=key)
    except (OSError, UserError) as error:
        print(f"tinyimagenet: the decoded images are not kept: {error}", file=sys.stderr)
    return images[0], images[1]


def _pixels(path: Path) -> np.ndarray:
    """A JPEG file as uint8 ``[3, 64, 64]``; grey images get three equal channels."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    except (OSError, SyntaxError, ValueError) as error:
        raise UserError(f"data.root: {str(path)!r} can't be decoded: {error}") from None
    if pixels.shape != SHAPE:
        raise UserError(
            f"data.root: {str(path)!r} is {pixels.shape[2]} × {pixels.shape[1]}, not 64 × 64"
        )
    return pixels
