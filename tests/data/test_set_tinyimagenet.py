import os
import random
import shutil
import stat
import struct
import zlib

import pytest
import torch
from cases import cases, refused
from conftest import real
from PIL import Image

from ngo.common.registries import DATASETS
from ngo.data import download, loading
from ngo.data.sets import tinyimagenet
from verdicts.registry import UserError

CACHE = "tiny-imagenet-200-3x64x64.npz"
IDS = [f"n{i:08}" for i in range(200)]
COLOURS = {
    "train/n00000003/images/n00000003_0.JPEG": (200, 30, 60),
    "train/n00000003/images/n00000003_1.JPEG": (10, 120, 250),
    "train/n00000150/images/n00000150_7.JPEG": 90,  # grey
    "val/images/val_0.JPEG": (0, 255, 0),
    "val/images/val_1.JPEG": 17,
}
POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\nshowpage\n%%EOF\n"


def save(path, colour):
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = "L" if isinstance(colour, int) else "RGB"
    Image.new(mode, (64, 64), colour).save(path, "JPEG", quality=95)


@pytest.fixture
def root(tmp_path):
    """A data root with five images in TinyImageNet's layout, of single colours."""
    folder = tmp_path / tinyimagenet.FOLDER
    ids = random.Random(0).sample(IDS, 200)
    folder.mkdir()
    (folder / "wnids.txt").write_text("\n".join(ids) + "\n")
    for name in random.Random(1).sample(sorted(COLOURS), len(COLOURS)):
        save(folder / name, COLOURS[name])
    (folder / "val/val_annotations.txt").write_text(
        "val_1.JPEG\tn00000150\t0\t0\t62\t62\nval_0.JPEG\tn00000042\t4\t0\t60\t55\n"
        "val_2.JPEG\tn00000001\t4\t0\t60\t55\n"
    )
    return tmp_path


def test_images_and_labels_in_the_order_of_classes_and_names(root):
    data = loading.load("tinyimagenet", root)
    assert data.classes == 200
    assert data.train_inputs.shape == (3, 3, 64, 64)
    assert data.train_inputs.dtype == torch.uint8
    assert data.train_targets.tolist() == [3, 3, 150]
    assert data.test_targets.tolist() == [42, 150]
    images = [*data.train_inputs, *data.test_inputs]
    for image, colour in zip(images, COLOURS.values(), strict=True):
        wanted = torch.tensor(colour if isinstance(colour, tuple) else (colour,) * 3)
        assert (image - wanted[:, None, None]).abs().max() <= 2  # JPEG rounds
    assert data.train_inputs[2].unique(dim=0).shape[0] == 1  # grey: three equal channels


@pytest.mark.parametrize("change", ["added", "resized", "removed", "cut", "emptied"])
def test_a_changed_folder_or_a_damaged_cache_is_decoded_again(root, monkeypatch, change):
    tinyimagenet.read_tinyimagenet(root)
    opened, read = [], Image.open
    monkeypatch.setattr(Image, "open", lambda path, **how: opened.append(path) or read(path, **how))
    folder, cache = root / tinyimagenet.FOLDER, root / CACHE
    name = "train/n00000003/images/n00000003_1.JPEG"
    if change == "added":
        save(folder / "train/n00000003/images/n00000003_2.JPEG", 5)
    elif change == "resized":
        Image.new("RGB", (64, 64), 5).save(folder / name, "JPEG", quality=20)
    elif change == "removed":
        (folder / name).unlink()
    else:
        cache.write_bytes(cache.read_bytes()[:-1000] if change == "cut" else b"")
    data = tinyimagenet.read_tinyimagenet(root)
    there = {"added": 4, "removed": 2}.get(change, 3)
    assert len(opened) == there + 2
    assert len(data.train_inputs) == len(data.train_targets) == there
    opened.clear()
    tinyimagenet.read_tinyimagenet(root)
    assert opened == []


def test_a_missing_part_of_the_release_is_logged(root, caplog):
    download._warn_once.cache_clear()
    assert download.check("tinyimagenet", root) == []
    assert caplog.messages == [
        "tinyimagenet: only 3 of the release's 100,000 training images and 2 of the release's "
        "10,000 test images are present"
    ]
    download.prepare("tinyimagenet", root)
    assert len(caplog.messages) == 1
    assert DATASETS["tinyimagenet"].train_samples == 100_000


@cases(
    "file, content, message",
    ("wnids.txt", None, "wnids.txt' does not exist"),
    ("wnids.txt", "n1\nn2\n", "wnids.txt' lists 2 classes, not 200"),
    ("val/val_annotations.txt", None, "val_annotations.txt' does not exist"),
    ("val/val_annotations.txt", "val_0.JPEG\tn1\n", "names no class in the line 'val_0"),
    ("val/val_annotations.txt", "val_0.JPEG\tn00000001\n", "no line for val/images/val_1"),
)
def test_a_missing_or_damaged_text_file_is_named(root, file, content, message):
    path = root / tinyimagenet.FOLDER / file
    path.unlink() if content is None else path.write_text(content)
    for call in (download.check, loading.train_labels, loading.load):
        refused(message, call, "tinyimagenet", root)


def bomb(width, height):
    """A PNG file of some bytes that declares any size."""

    def chunk(kind, content):
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    size = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + size + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("content", [POSTSCRIPT, bomb(30_000, 30_000), bomb(4, 4)])
def test_what_is_no_image_of_the_release_is_refused(root, tmp_path, monkeypatch, content):
    """Pillow gives a file that begins as PostScript does to Ghostscript, whatever its name."""
    program = tmp_path / "gs"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert shutil.which("gs") == str(program)
    (root / tinyimagenet.FOLDER / "val/images/val_0.JPEG").write_bytes(content)
    with pytest.raises(UserError, match="val_0.JPEG' can't be decoded: cannot identify image file"):
        loading.load("tinyimagenet", root)
    assert not (tmp_path / "ran").exists()


def test_real_tinyimagenet():
    found = tinyimagenet.list_images(real(f"{tinyimagenet.FOLDER}/wnids.txt"))
    assert set(found.train_labels) == set(found.test_labels) == set(range(200))
    assert found.train[0].startswith("train/n01443537/")  # goldfish, the first id
    assert len(found.train) <= tinyimagenet.TRAIN
