"""Folders of images, decoded once into an array; torchvision's layout ``PART/CLASS/IMAGE``.

In that layout, the parts are ``train`` and ``test`` (or ``val``). The classes are the folders of
``train``, in the order of their names.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ngo.common.files import atomic_file, check_names, file_lock, read_limited, write_text
from ngo.common.registry import UserError, in_a_line
from ngo.data.array_files import read_arrays
from ngo.data.download import stamp
from verdicts.files import regular_file

if TYPE_CHECKING:
    from PIL.Image import Image


# Pillow's names of the formats that are decoded. Other formats are refused, whatever the file's
# name is: for PostScript, Pillow would start another program.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")


def decoded_images(paths: Iterable[Path], mode: str) -> Iterator[Image]:
    """The images in files, converted to Pillow's ``mode``.

    A one-line UserError for a file that can't be decoded, or with more pixels than Pillow's limit
    (89 million), which is checked before memory is taken.
    """
    from PIL import Image

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")  # of damaged metadata
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        for path in paths:
            regular_file(path, "data.root")
            try:
                with Image.open(path, formats=FORMATS) as image:
                    converted = image.convert(mode)
            except Exception as error:  # decoders raise errors of many types for damaged files
                raise UserError(
                    f"data.root: {str(path)!r} can't be decoded: {in_a_line(error)}"
                ) from None
            yield converted


# Those of torchvision.datasets.ImageFolder.
SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

# Pillow's names of images with 1 and with 3 channels.
MODES = {1: "L", 3: "RGB"}

_log = logging.getLogger("ngo")


@dataclass(frozen=True)
class Images:
    """Image files, relative to the folder, and their labels (int64 ``[m]``), in samples' order."""

    classes: list[str]
    train: list[str]
    train_labels: np.ndarray
    test: list[str]
    test_labels: np.ndarray

    @property
    def files(self) -> list[str]:
        """All files, those for training first."""
        return [*self.train, *self.test]


def list_images(folder: Path) -> Images:
    """List the images of a folder without opening one.

    A UserError if a part has no images, if a class has no folder in ``train``, or if what has an
    image's name is not a regular file.
    """
    test = "test" if (folder / "test").is_dir() else "val"
    classes = _classes(folder / "train")
    if extra := sorted(set(_classes(folder / test)) - set(classes)):
        raise UserError(f"data.root: {str(folder / test / extra[0])!r} is no class of train.")
    train, test = (_files(folder, part, classes) for part in ("train", test))
    return Images(classes, *train, *test)


def read_images(
    folder: Path, images: Images, shape: tuple[int, ...], content: str, *, resized: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The training and test images, uint8 ``[m, *shape]``; ``shape`` is (channels, height, width).

    They are decoded once and kept in a ``.npz`` file next to the folder, with ``content``, a digest
    of the image files. A second file has the stamp of the kept one. Nobody can know a stamp in
    advance, so that images which were not decoded here are not used. One process decodes at a time.
    A UserError for an image of another size, unless images are ``resized``.
    """
    kept = folder.with_name(f"{folder.name}-{'x'.join(map(str, shape))}.npz")
    if (decoded := _kept(kept, content)) is not None:
        return decoded
    with file_lock(
        kept.with_name(f".{kept.name}.lock"),
        on_wait=lambda: _log.warning(f"{folder.name}: waiting for another process to decode it"),
    ):
        if (decoded := _kept(kept, content)) is not None:
            return decoded
        _log.info(f"{folder.name}: decoding {len(images.files):,} images")
        train, test = (
            _decoded(folder, names, shape, resized) for names in (images.train, images.test)
        )
        try:
            with atomic_file(kept, "data.root") as temporary:
                np.savez(temporary, train=train, test=test, content=content)
            write_text(_stamp_of(kept), stamp([kept]))
        except (OSError, UserError) as error:
            _log.warning(f"{folder.name}: the decoded images are not kept: {error}")
    return train, test


def _classes(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise UserError(
            f"data.root: {str(folder)!r} is not a folder, with a folder for each class."
        )
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name[0] != ".")


def _files(folder: Path, part: str, classes: list[str]) -> tuple[list[str], np.ndarray]:
    names, labels = [], []
    for label, name in enumerate(classes):
        paths = sorted((folder / part / name).rglob("*"))
        images = [path for path in paths if path.suffix.lower() in SUFFIXES and path.name[0] != "."]
        images = [regular_file(path, "data.root") for path in images if not path.is_dir()]
        names += [path.relative_to(folder).as_posix() for path in images]
        labels += [label] * len(images)
    if not names:
        raise UserError(f"data.root: {str(folder / part)!r} has no images.")
    check_names(folder, "data.root", names)
    return names, np.array(labels, np.int64)


def _kept(path: Path, content: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The decoded images; None if they are absent, damaged, of other files, or from elsewhere."""
    try:
        if read_limited(_stamp_of(path), "data.root", 100) != stamp([path]):
            return None
        train, test, digest = read_arrays(path, "train", "test", "content")
    except (OSError, UserError):
        return None
    return (train, test) if str(digest) == content else None


def _stamp_of(kept: Path) -> Path:
    """The file that has the stamp of the kept images."""
    return kept.with_name(f".{kept.name}.stamp")


def _decoded(folder: Path, names: list[str], shape: tuple[int, ...], resized: bool) -> np.ndarray:
    from PIL import Image
    from tqdm import tqdm

    channels, height, width = shape
    decoded = np.empty((len(names), *shape), np.uint8)
    bar = tqdm(names, desc=f"{folder.name}: decoding", unit=" images", leave=False, disable=None)
    images = decoded_images((folder / name for name in bar), MODES[channels])
    for name, pixels, image in zip(names, decoded, images, strict=True):
        if not resized and image.size != (width, height):
            size = f"{image.width} × {image.height}, not {width} × {height}"
            raise UserError(f"data.root: {str(folder / name)!r} is {size}")
        sized = image.resize((width, height), Image.Resampling.BILINEAR)
        pixels[:] = np.asarray(sized).reshape(height, width, channels).transpose(2, 0, 1)
    return decoded
