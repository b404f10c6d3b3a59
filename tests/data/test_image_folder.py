"""Folders of images: how they are listed, decoded and kept, and what a stranger might put there."""

import os
import shutil
import stat
import struct
import warnings
import zlib

import numpy as np
import pytest
from own_data import image_folder
from PIL import Image

from ngo.common.registry import UserError
from ngo.data.image_folder import decoded_images, list_images, read_images


@pytest.mark.parametrize("part", ["test", "val"])
def test_classes_are_the_folders_of_train_by_name(tmp_path, part):
    images = list_images(image_folder(tmp_path, part))
    assert images.classes == ["robin", "wren"]
    assert images.train == [f"train/{name}" for name in (
        "robin/0.JPG", "robin/1.png", "robin/2.png", "wren/0.JPG", "wren/1.png", "wren/2.png"
    )]  # fmt: skip
    assert images.train_labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert images.test == [f"{part}/robin/0.JPG", f"{part}/wren/0.JPG"]
    assert images.test_labels.tolist() == [0, 1]


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB")])
def test_images_are_resized_by_pillow_with_channels_first(tmp_path, channels, mode):
    folder = image_folder(tmp_path)
    images = list_images(folder)
    train, test = read_images(folder, images, (channels, 6, 4), "digest")
    assert train.shape == (6, channels, 6, 4)
    assert test.shape == (2, channels, 6, 4)
    with Image.open(folder / "train/wren/1.png") as image:
        whole = np.asarray(image.convert(mode).resize((4, 6), Image.Resampling.BILINEAR))
    assert np.array_equal(train[4], whole.reshape(6, 4, channels).transpose(2, 0, 1))


def test_what_is_no_such_folder_is_named(tmp_path):
    with pytest.raises(UserError, match="birds/train' is not a folder, with a folder for each"):
        list_images(tmp_path / "birds")
    folder = image_folder(tmp_path)
    (folder / "test/hawk").mkdir()
    with pytest.raises(UserError, match="birds/test/hawk' is no class of train"):
        list_images(folder)
    (folder / "test/hawk").rmdir()
    for path in (folder / "test").rglob("*.JPG"):
        path.unlink()
    with pytest.raises(UserError, match="birds/test' has no images"):
        list_images(folder)


@pytest.mark.timeout(60)
def test_what_has_an_images_name_is_a_regular_file(tmp_path):
    folder = image_folder(tmp_path)
    os.mkfifo(folder / "train/wren/3.png")
    with pytest.raises(UserError, match="data.root: '.*wren/3.png' can't be read: it is not a reg"):
        list_images(folder)


def test_decoded_images_that_came_with_the_folder_are_not_used(tmp_path):
    """Neither with the digest of the images nor with a stamp that was right elsewhere."""
    folder = image_folder(tmp_path)
    images = list_images(folder)
    true, _ = read_images(folder, images, (3, 6, 4), "digest")
    kept = tmp_path / "birds-3x6x4.npz"
    with np.load(kept) as file:
        forged = {name: np.zeros_like(file[name]) for name in ("train", "test")}
    times = kept.stat()
    np.savez(kept, **forged, content="digest")
    os.utime(kept, ns=(times.st_atime_ns, times.st_mtime_ns))
    again, _ = read_images(folder, images, (3, 6, 4), "digest")
    assert np.array_equal(again, true)


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


def bomb(width, height):
    """A PNG file of some bytes that declares any size."""

    def chunk(kind, content):
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    size = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + size + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\nshowpage\n%%EOF\n"
