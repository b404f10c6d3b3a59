"""Each data set: its samples, and where they come from."""

import gzip
import hashlib
import os
import pickle
import random
import shutil
import stat
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from cases import cases, refused
from conftest import idx, real
from PIL import Image

from ngo.common.registries import DATASETS
from ngo.data import download, loading
from ngo.data.partition import sample_owners
from ngo.data.sets import synthetic, tinyimagenet
from ngo.data.sets.digits import digits_table
from ngo.data.sets.mnist import read_idx
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

TEXT = {"dataset": "markov_text", "model": "gpt_char", "task": "next_character"}


def tiny_cifar(tmp_path, monkeypatch, name, key, count, train_samples):
    """Replace the data set ``name``: each file has ``count`` images, and labels under ``key``.

    Returns the data root, and the images and labels by file.
    """
    rng = np.random.default_rng(0)
    contents, sums = {}, {}
    for file in DATASETS[name].files:
        images = rng.integers(0, 256, (count, 3072), dtype=np.uint8)
        labels = rng.integers(0, DATASETS[name].classes, count).tolist()
        contents[file.split("/")[1]] = images, labels
        values = {b"data": images, key: labels, b"coarse_labels": [0] * count}
        content = pickle.dumps(values, protocol=3)
        content = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")  # released
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(content)
        sums[file] = (hashlib.md5(content).hexdigest(),)
    source = replace(DATASETS[name], files=sums, train_samples=train_samples)
    monkeypatch.setitem(DATASETS, name, source)
    return tmp_path, contents


def stationary(probabilities: np.ndarray) -> np.ndarray:
    """The distribution of two characters in a row in each dialect, ``[dialects, a, b]``."""
    pairs = np.full(probabilities.shape[:3], 1 / synthetic.CHARACTERS**2)
    for _ in range(1000):
        pairs = np.einsum("kab,kabc->kbc", pairs, probabilities)
    return pairs


def entropy_rate(dialects, dialect_distance) -> float:
    """The mean entropy of a character after two others, in nats, if the dialect is known."""
    found = synthetic.chains(dialects, dialect_distance)
    surprise = -np.log(np.where(found > 0, found, 1))
    entropies = np.einsum("kab,kabc,kabc->k", stationary(found), found, surprise)
    return float(entropies[synthetic.dialect_of(dialects)].mean())


def smallest_losses(text, dialects, dialect_distance) -> tuple[float, float]:
    """The mean losses of two best predictions of ``text`` ``[m, 32]``, in nats a character.

    Both know all chains, but not the author of a sample. The first takes all characters before,
    which tell the dialects apart: in expectation, no model has a smaller loss. The second takes
    the last two characters alone.
    """
    text, found = np.asarray(text, np.int64), synthetic.chains(dialects, dialect_distance)
    share = np.bincount(synthetic.dialect_of(dialects), minlength=dialects) / synthetic.AUTHORS
    pairs = share[:, None, None] * stationary(found)  # joint with the dialect
    first, second = text[:, 0], text[:, 1]
    of_one, of_two = pairs.sum(2)[:, first], pairs[:, first, second]
    with_all = with_two = [-np.log(of_two.sum(0) / of_one.sum(0))]
    seen = of_two  # the joint probability of a dialect and all characters so far
    for t in range(2, text.shape[1]):
        a, b, c = text[:, t - 2 : t + 1].T
        after = found[:, a, b, c]
        with_all = [*with_all, -np.log((seen * after).sum(0) / seen.sum(0))]
        with_two = [*with_two, -np.log((pairs[:, a, b] * after).sum(0) / pairs[:, a, b].sum(0))]
        seen = seen * after
    return float(np.mean(with_all)), float(np.mean(with_two))


def test_batches_of_cifar_are_stacked_in_order_and_labels_are_the_fine_ones(tmp_path, monkeypatch):
    """CIFAR-10's, with two images per batch."""
    root, batches = tiny_cifar(tmp_path, monkeypatch, "cifar10", b"labels", 2, 10)
    data = loading.load("cifar10", root)
    train = [batches[f"data_batch_{i}"] for i in range(1, 6)]
    assert data.train_targets.tolist() == [label for _, labels in train for label in labels]
    assert data.test_targets.tolist() == batches["test_batch"][1]
    assert data.train_inputs.dtype == torch.uint8
    assert data.train_inputs.shape == (10, 3, 32, 32)
    # A row of a batch is all red values, then green, then blue; each row by row.
    assert data.train_inputs[3, 1, 2, 5] == train[1][0][1, 1024 + 2 * 32 + 5]
    assert data.mean.shape == data.std.shape == (3, 1, 1)
    labels = loading.train_labels("cifar10", root)
    assert labels.dtype == np.int64
    assert labels.tolist() == data.train_targets.tolist()
    root, files = tiny_cifar(tmp_path, monkeypatch, "cifar100", b"fine_labels", 4, 4)
    data = loading.load("cifar100", root)
    assert data.train_targets.tolist() == files["train"][1]
    assert data.test_targets.tolist() == files["test"][1]
    assert data.test_inputs[3, 1, 2, 5] == files["test"][0][3, 1024 + 2 * 32 + 5]


def test_real_cifar10():
    data = loading.load("cifar10", real("cifar-10-batches-py/test_batch"))
    assert data.train_inputs.shape == (50_000, 3, 32, 32)
    assert torch.bincount(data.train_targets).tolist() == [5000] * 10
    assert torch.bincount(data.test_targets).tolist() == [1000] * 10
    assert data.mean.flatten().tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)
    assert data.std.flatten().tolist() == pytest.approx([0.2470, 0.2435, 0.2616], abs=1e-4)


def test_digits_are_scikit_learns(tmp_path):
    from sklearn.datasets import load_digits

    table = digits_table()
    bundled = load_digits()
    rows = {tuple(row) for row in table.tolist()}
    assert len(table) == 1797
    pairs = zip(bundled.data.astype(int).tolist(), bundled.target.tolist(), strict=True)
    assert rows == {(*image, label) for image, label in pairs}
    data = loading.load("digits", tmp_path)
    assert data.train_inputs.shape == (1437, 1, 28, 28)
    assert data.test_inputs.shape == (360, 1, 28, 28)
    assert len(data.train_inputs) == DATASETS["digits"].train_samples
    assert data.train_targets.numpy().tolist() == loading.train_labels("digits", tmp_path).tolist()
    assert int(data.train_inputs.max()) == 255
    assert torch.unique(data.test_targets).tolist() == list(range(10))


def test_real_mnist(mnist_root):
    data = loading.load("mnist", mnist_root)
    assert data.train_inputs.shape == (60_000, 1, 28, 28)
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert torch.bincount(data.test_targets).tolist() == counts
    assert (data.mean.item(), data.std.item()) == pytest.approx((0.1307, 0.3081), abs=1e-4)


def both(data):
    return (data.train_inputs, data.train_targets), (data.test_inputs, data.test_targets)


def test_the_sine_has_the_stated_noise_and_least_squares_one_solution():
    data = synthetic.read_sine(Path())
    for x, y in both(data):
        assert np.abs(x).max() == pytest.approx(np.pi, abs=0.01)
        assert x.std() == pytest.approx(np.pi / 3**0.5, rel=0.02)  # uniform
        noise = y - np.sin(x)
        assert noise.std() == pytest.approx(0.1, rel=0.04)
        assert abs(noise.mean()) < 0.01
        assert abs(np.corrcoef(x.ravel(), noise.ravel())[0, 1]) < 0.06
    data = synthetic.read_least_squares(Path())
    solution = np.linalg.lstsq(data.train_inputs, data.train_targets, rcond=None)[0]
    for inputs, targets in both(data):
        assert np.cov(inputs.T) == pytest.approx(np.eye(10), abs=0.12)
        assert (targets - inputs @ solution).std() == pytest.approx(1, rel=0.04)
    assert np.linalg.norm(solution) > 1


def test_options_of_a_run_decide_the_text_which_is_the_same_every_time(tmp_path):
    first, second = synthetic.read_markov_text(Path()), synthetic.read_markov_text(Path())
    for a, b in zip(vars(first).values(), vars(second).values(), strict=True):
        assert np.array_equal(a, b)
    assert first.train_inputs.shape == (16_000, 32)
    assert set(np.unique(first.train_inputs)) == set(range(8))
    assert first.train_targets.tolist() == [*range(16)] * 1000
    assert first.test_targets.tolist() == [*range(16)] * 100
    assert not np.array_equal(first.train_inputs[:1600], first.test_inputs)
    assert sample_owners("markov_text", tmp_path).tolist() == [[k % 16] for k in range(16_000)]
    labels = loading.train_labels("markov_text", tmp_path)
    assert labels.tolist() == loading.load("markov_text", tmp_path).labels.tolist()
    spec = resolve({**TEXT, "dialects": 1, "dialect_distance": 0.25})
    data = loading.load("markov_text", tmp_path, run=spec)
    expected = synthetic.read_markov_text(tmp_path, dialects=1, dialect_distance=0.25)
    assert np.array_equal(data.train_inputs.numpy(), expected.train_inputs)
    default = loading.load("markov_text", tmp_path)
    same = loading.load("markov_text", tmp_path, run=resolve(TEXT))
    assert (default.train_inputs == same.train_inputs).all()
    assert (default.train_inputs != data.train_inputs).any()
    assert resolve(TEXT).id != spec.id
    assert resolve(TEXT).partition_id == spec.partition_id


@pytest.mark.parametrize("distance", [0, 0.5])
def test_characters_follow_the_chain_of_their_author(distance):
    """The share of each character after each two is the chain's, in the first ones too."""
    arrays = synthetic.read_markov_text(Path(), dialects=2, dialect_distance=distance)
    text, found = arrays.train_inputs.astype(int), synthetic.chains(2, distance)
    for dialect, first in ((0, 0), (1, 8)):
        own = text[(arrays.train_targets >= first) & (arrays.train_targets < first + 8)]
        counts = np.zeros((8, 8, 8))
        np.add.at(counts, (own[:, :-2], own[:, 1:-1], own[:, 2:]), 1)
        seen = counts.sum(-1, keepdims=True)
        often = seen[..., 0] > 5000
        shares = counts / np.maximum(seen, 1)
        assert abs(shares - found[dialect])[often].max() < 0.02
        assert often.sum() > 5
        start = np.bincount(own[:, 0] * 8 + own[:, 1], minlength=64) / len(own)
        assert abs(start - stationary(found)[dialect].ravel()).max() < 0.015


def test_the_smallest_losses_of_the_test_set():
    """With one dialect they are the chain's entropy and that of the second character; with more,
    the characters before the last two tell dialects apart.
    """
    found = {}
    for dialects, distance in ((1, 0.5), (8, 0), (8, 0.25), (8, 0.5)):
        how = {"dialects": dialects, "dialect_distance": distance}
        text = synthetic.read_markov_text(Path(), **how).test_inputs
        found[dialects, distance] = smallest_losses(text, **how)
    for one in ((1, 0.5), (8, 0)):
        with_all, with_two = found[one]
        assert with_all == pytest.approx(with_two)
        assert with_all == pytest.approx(entropy_rate(*one), abs=0.04)
    for several in ((8, 0.25), (8, 0.5)):
        with_all, with_two = found[several]
        assert entropy_rate(*several) < with_all < with_two < np.log(8)
    assert found[1, 0.5][0] == pytest.approx(1.279, abs=5e-4)
    assert found[8, 0.5] == pytest.approx([1.337, 1.665], abs=5e-4)


def test_idx_files_plain_and_compressed(tmp_path):
    array = np.arange(24).reshape(2, 3, 4)
    (tmp_path / "plain").write_bytes(idx(array))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx(array)))
    for name in ("plain", "packed"):
        assert np.array_equal(read_idx(tmp_path / name), array)


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
