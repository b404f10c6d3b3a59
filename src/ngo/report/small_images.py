"""Figures as smaller PNG files, for a repository."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

COLOURS = 256


def small_png(path: str | Path) -> bytes:
    """A PNG file with a palette: the picture's colours up to 256, else the nearest 256."""
    figure = Image.open(path).convert("RGB")
    exact = figure.getcolors(COLOURS)
    palette = figure.quantize(
        len(exact) if exact else COLOURS,
        Image.Quantize.MEDIANCUT,
        kmeans=0 if exact else 2,
        dither=Image.Dither.NONE,
    )
    stream = io.BytesIO()
    palette.save(stream, "PNG", optimize=True)
    return stream.getvalue()
