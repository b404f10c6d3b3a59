"""Decoding image files."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.registry import UserError, in_a_line
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
