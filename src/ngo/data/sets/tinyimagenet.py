"""Tiny ImageNet: a folder of JPEG files.

Layout below the data root: ``tiny-imagenet-200/`` with ``wnids.txt`` (the WordNet ids of the
classes), ``train/<wnid>/images/*.JPEG``, ``val/images/*.JPEG`` and ``val/val_annotations.txt``. The
validation images are the test set, because the released test images have no labels.
"""

from __future__ import annotations

import hashlib
import logging
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from glob import glob
from pathlib import Path

import numpy as np

from ngo.common.files import atomic_file, read_limited, reading
from ngo.data.dataset import Arrays, Download, checksums, dataset
from ngo.data.loading import read_arrays
from verdicts.files import regular_file
from verdicts.registry import UserError

URL = "http://cs231n.stanford.edu/tiny-imagenet-200.zip"
FOLDER = "tiny-imagenet-200"
CLASSES = 200
TEXT = 2**26  # bytes of a text file of the release, at most
TRAIN, TEST = 100_000, 10_000  # images of the release
SIDE = 64  # pixels

_log = logging.getLogger("ngo")


@dataclass(frozen=True)
class Images:
    """Image files, relative to the folder, and their labels (int64 ``[m]``), in samples' order."""

    train: list[str]
    train_labels: np.ndarray
    test: list[str]
    test_labels: np.ndarray


def list_images(root: Path) -> Images:
    """List the images without opening one.

    A label is the position of the class's id among the sorted ids. Training images are sorted by
    class, then by name; test images by name. Raises a UserError if a text file is absent or
    damaged, or if there are no images.
    """
    folder = root / FOLDER
    listed = folder / "wnids.txt"
    ids = sorted(set(read_limited(listed, "data.root", TEXT).split()))
    if len(ids) != CLASSES:
        raise UserError(f"data.root: {str(listed)!r} lists {len(ids)} classes, not {CLASSES}")
    if odd := [wnid for wnid in ids if not re.fullmatch(r"\w+", wnid)]:
        raise UserError(f"data.root: {str(listed)!r}: {odd[0]!r} is no id.")
    jpegs = partial(glob, root_dir=folder)  # no hidden files; none if the folder is absent
    by_class = [sorted(jpegs(f"train/{wnid}/images/*.JPEG")) for wnid in ids]
    test = sorted(jpegs("val/images/*.JPEG"))
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
        part = "training" if test else "test"
        raise UserError(f"data.root: {str(folder)!r} contains no {part} images")
    return Images(
        [name for names in by_class for name in names],
        np.repeat(np.arange(CLASSES), [len(names) for names in by_class]),
        test,
        np.array([label_of[name] for name in test], np.int64),
    )


def missing_images(root: Path) -> str | None:
    """The number of present images in one line, if some of the release are missing; else None."""
    images = list_images(root)
    parts = [("training", len(images.train), TRAIN), ("test", len(images.test), TEST)]
    present = [
        f"{count:,} of the release's {released:,} {part} images"
        for part, count, released in parts
        if count != released
    ]
    return f"tinyimagenet: only {' and '.join(present)} are present" if present else None


@dataset(
    "tinyimagenet",
    read_labels=lambda root: list_images(root).train_labels,
    train_samples=TRAIN,
    input_shape=(3, SIDE, SIDE),
    classes=CLASSES,
    folder=FOLDER,
    note=missing_images,
    downloads=(Download(URL, *checksums()["tiny-imagenet-200.zip"]),),
)
def read_tinyimagenet(root: Path) -> Arrays:
    """The images, kept as arrays in a file next to the folder until an image changes."""
    folder, images = root / FOLDER, list_images(root)
    files, kept = [*images.train, *images.test], root / f"{FOLDER}-3x{SIDE}x{SIDE}.npz"
    content = stamp(folder, files)
    try:
        arrays = read_arrays(kept, ("train", "test", "content"))
    except UserError:  # absent, or damaged
        arrays = {}
    if str(arrays.get("content")) != content:
        _log.info(f"{FOLDER}: decoding {len(files):,} images")
        arrays = {name: decoded(folder, vars(images)[name]) for name in ("train", "test")}
        try:
            with atomic_file(kept, "data.root") as temporary:
                np.savez(temporary, **arrays, content=content)
        except (OSError, UserError) as error:
            _log.warning(f"{FOLDER}: the decoded images are not kept: {error}")
    return Arrays(arrays["train"], images.train_labels, arrays["test"], images.test_labels)


def stamp(folder: Path, files: Sequence[str]) -> str:
    """A digest of the names and sizes of files, and of the times when they were last changed."""
    stats = [regular_file(folder / name, "data.root").stat() for name in files]
    facts = [(n, s.st_size, s.st_mtime_ns) for n, s in zip(files, stats, strict=True)]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def decoded(folder: Path, files: Sequence[str]) -> np.ndarray:
    """The images in files, uint8 ``[m, 3, SIDE, SIDE]``.

    A one-line UserError for a file that can't be decoded, that has another size, or that has more
    pixels than Pillow's limit (89 million), which is checked before memory is taken.
    """
    from PIL import Image
    from tqdm import tqdm

    pixels = np.empty((len(files), 3, SIDE, SIDE), np.uint8)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")  # of damaged metadata
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        bar = tqdm(files, desc=f"{FOLDER}: decoding", unit=" images", leave=False, disable=None)
        for k, name in enumerate(bar):
            path = regular_file(folder / name, "data.root")
            fault = f"data.root: {str(path)!r} can't be decoded"
            # Pillow would start another program for PostScript, whatever the file's name is.
            with reading(fault), Image.open(path, formats=("JPEG",)) as image:
                array = np.asarray(image.convert("RGB"))
            if array.shape != (SIDE, SIDE, 3):
                size = f"{array.shape[1]} × {array.shape[0]}, not {SIDE} × {SIDE}"
                raise UserError(f"data.root: {str(path)!r} is {size}")
            pixels[k] = array.transpose(2, 0, 1)
    return pixels
