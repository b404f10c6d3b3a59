import os
import shutil
import stat
import warnings

import numpy as np
import pytest
from hostile_images import POSTSCRIPT, bomb
from PIL import Image

from ngo.common.registry import UserError
from ngo.data.image_folder import decoded_images


def test_images_are_converted_in_order(tmp_path):
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    for name in ("a.png", "b.bmp", "c.tiff", "d.ppm", "e.webp", "f.gif"):
        Image.fromarray(pixels).save(tmp_path / name, lossless=True)
    paths = sorted(tmp_path.iterdir())
    found = [np.asarray(each) for each in decoded_images(paths, "RGB")]
    for path, image in zip(paths, found, strict=True):
        with Image.open(path) as whole:
            assert np.array_equal(image, np.asarray(whole.convert("RGB")))


def refusal(path):
    with warnings.catch_warnings(record=True) as told, pytest.raises(UserError) as error:
        list(decoded_images([path], "RGB"))
    assert not told
    assert "\n" not in str(error.value)
    return str(error.value).removeprefix(f"data.root: {str(path)!r} can't be ")


@pytest.mark.parametrize("size", [(10_000, 10_000), (30_000, 30_000), (2**31 - 1, 2**31 - 1)])
def test_an_image_that_declares_too_many_pixels_is_refused(tmp_path, size):
    (tmp_path / "x.png").write_bytes(bomb(*size))
    assert refusal(tmp_path / "x.png").startswith("decoded: Image size (")


@pytest.mark.timeout(60)
def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "x.png")
    assert refusal(tmp_path / "x.png") == "read: it is not a regular file."


def test_no_program_is_started_for_postscript(tmp_path, monkeypatch):
    """Pillow gives a file that begins as PostScript does to Ghostscript, whatever its name."""
    program = tmp_path / "gs"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert shutil.which("gs") == str(program)
    (tmp_path / "x.png").write_bytes(POSTSCRIPT)
    assert refusal(tmp_path / "x.png").startswith("decoded: cannot identify image file")
    assert not (tmp_path / "ran").exists()


def decodes(path):
    """Whether a file decodes; if not, it is told in a line."""
    with warnings.catch_warnings(record=True) as told:
        try:
            (image,) = decoded_images([path], "RGB")
        except UserError as error:
            line = str(error)
        else:
            line = None
            assert image.mode == "RGB"
    assert not told
    assert line is None or "\n" not in line
    return line is None


def test_damaged_images_are_explained_in_a_line(tmp_path):
    noise = np.random.default_rng(0)
    image = Image.fromarray(noise.integers(0, 256, (9, 9, 3), dtype=np.uint8))
    refused = 0
    for name in ("x.png", "x.jpeg", "x.tiff", "x.gif", "x.webp", "x.bmp", "x.ppm"):
        image.save(tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        for _ in range(40):
            content = bytearray(whole)
            for place in noise.integers(0, min(len(content), 80), 3):
                content[place] = noise.integers(0, 256)
            (tmp_path / name).write_bytes(content)
            refused += decodes(tmp_path / name) is False
    assert refused > 50
