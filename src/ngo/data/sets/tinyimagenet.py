"""Tiny ImageNet: a folder of JPEG files.

Layout below the data root: ``tiny-imagenet-200/`` with ``wnids.txt`` (the WordNet ids of the
classes), ``train/<wnid>/images/*.JPEG``, ``val/images/*.JPEG`` and ``val/val_annotations.txt``. The
validation images are the test set, because the released test images have no labels.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from ngo.common.files import check_names, read_limited
from ngo.common.registry import UserError
from ngo.data.dataset import Arrays, Download, dataset
from ngo.data.download import stamp
from ngo.data.image_folder import Images, read_images
from verdicts.files import regular_file

URL = "http://cs231n.stanford.edu/tiny-imagenet-200.zip"
FOLDER = "tiny-imagenet-200"
CLASSES = 200
TEXT = 2**26  # bytes of a text file of the release, at most
TRAIN, TEST = 100_000, 10_000  # images of the release
SHAPE = (3, 64, 64)


def list_images(root: Path) -> Images:
    """List the images without opening one.

    A label is the position of the class's id among the sorted ids. Training images are sorted by
    class, then by name; test images by name. Raises a UserError if a text file is absent or
    damaged, or if there are no images.
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
    return Images(
        ids,
        [name for names in by_class for name in names],
        np.repeat(np.arange(CLASSES), [len(names) for names in by_class]),
        test,
        np.array([label_of[name] for name in test], np.int64),
    )


def missing_images(root: Path) -> str | None:
    """How many images of the release are present, in one line; None if all are."""
    images = list_images(root)
    parts = [("training", len(images.train), TRAIN), ("test", len(images.test), TEST)]
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
    downloads=(Download(URL, "90528d7ca1a48142e341f4ef8d21d0de"),),
)
def read_tinyimagenet(root: Path) -> Arrays:
    """Read the images, which are decoded again only if the files have changed."""
    folder, images = root / FOLDER, list_images(root)
    paths = [regular_file(folder / name, "data.root") for name in images.files]
    content = stamp(paths, images.files)
    train, test = read_images(folder, images, SHAPE, content, resized=False)
    return Arrays(train, images.train_labels, test, images.test_labels)


def _list_folder(folder: Path, below: str) -> list[str]:
    """The JPEG files in a folder below ``folder``, sorted; none if the folder is absent."""
    try:
        names = os.listdir(folder / below)
    except (FileNotFoundError, NotADirectoryError):
        return []
    images = [name for name in names if name.endswith(".JPEG") and name[0] != "."]
    check_names(folder / below, "data.root", images)
    return sorted(f"{below}/{name}" for name in images)
