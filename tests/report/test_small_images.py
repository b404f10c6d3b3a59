"""Figures for a repository keep their colours."""

import io

import numpy as np
from made_up_page import contents
from PIL import Image

from ngo.report.small_images import small_png


def pixels(source):
    return np.asarray(Image.open(source).convert("RGB")).astype(int)


def test_up_to_256_colours_are_kept_exactly(tmp_path):
    shades = np.arange(256, dtype=np.uint8).reshape(16, 16)
    colours = np.stack([shades, 255 - shades, shades // 2], axis=-1)
    Image.fromarray(colours).save(tmp_path / "a.png")
    small = small_png(tmp_path / "a.png")
    assert (pixels(io.BytesIO(small)) == colours).all()


def test_a_figure_keeps_its_size_and_nearly_every_colour(tmp_path):
    contents(tmp_path)
    path = tmp_path / "fig8.png"
    small = small_png(path)
    assert len(small) < path.stat().st_size
    assert small == small_png(path)
    far = np.abs(pixels(path) - pixels(io.BytesIO(small))).max(-1)
    assert far.max() < 64
    assert (far > 16).mean() < 0.001
