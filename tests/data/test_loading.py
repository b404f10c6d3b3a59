"""A data set as tensors: types, moments, the part that is evaluated, changed images."""

import gzip
import hashlib
import io
import shutil
import sys
import tarfile
import urllib.error
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from cases import cases, mistake_of, refused
from conftest import idx
from tiny_mnist import tiny_mnist

import ngo
from ngo.common.registries import DATASETS
from ngo.common.seeding import torch_stream
from ngo.data import download, loading
from ngo.data.augmentation import PADDING, crop_flip
from ngo.data.dataset import Arrays, Download
from ngo.data.dataset import test_samples as samples_of
from ngo.data.loading import load
from ngo.data.partition import sample_owners
from verdicts.registry import UserError

SOURCE = replace(DATASETS["digits"], train_samples=3, input_shape=(2,), classes=2)


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    return tiny_mnist(tmp_path, monkeypatch)


def test_a_data_set_as_tensors_and_its_moments(tmp_path, monkeypatch):
    place = "FashionMNIST/raw"
    name, root, contents = tiny_mnist(tmp_path, monkeypatch, "fashion_mnist", place)
    data = loading.load(name, root)
    for part, inputs in (("train", data.train_inputs), ("t10k", data.test_inputs)):
        assert idx(inputs[:, 0].numpy()) == contents[f"{place}/{part}-images-idx3-ubyte"]
    assert data.train_inputs.shape == (2, 1, 28, 28)
    assert data.train_inputs.dtype == torch.uint8
    assert (data.train_targets.tolist(), data.test_targets.tolist()) == ([3, 7], [1])
    pixels = data.train_inputs.double() / 255
    assert data.mean.item() == pytest.approx(pixels.mean().item(), rel=1e-6)
    assert data.std.item() == pytest.approx(pixels.std(correction=0).item(), rel=1e-6)
    normalised = data.normalised(data.train_inputs).double()
    assert normalised.mean().item() == pytest.approx(0, abs=1e-6)
    assert normalised.std(correction=0).item() == pytest.approx(1, rel=1e-5)
    assert loading.train_labels(name, root).tolist() == [3, 7]
    images = np.random.default_rng(0).integers(0, 256, (1500, 3, 4, 4), dtype=np.uint8)
    pixels = images.transpose(1, 0, 2, 3).reshape(3, -1) / 255
    mean, std = loading.pixel_moments(images)
    assert mean == pytest.approx(pixels.mean(1), rel=1e-12)
    assert std == pytest.approx(pixels.std(1), rel=1e-12)


@pytest.mark.parametrize("name", ["sine", "least_squares"])
def test_regression_data_is_float_and_has_no_classes(name, tmp_path):
    data, source = loading.load(name, tmp_path), DATASETS[name]
    assert data.classes is source.classes is None
    assert data.mean is data.std is None
    assert data.train_inputs.shape == (source.train_samples, *source.input_shape)
    assert data.train_targets.shape == (6400, 1)
    assert len(data.test_inputs) == len(data.test_targets) == 1600
    assert {t.dtype for t in (data.train_inputs, data.test_targets)} == {torch.float32}
    assert data.normalised(data.test_inputs) is data.test_inputs
    labels = loading.train_labels(name, tmp_path)
    assert labels.dtype == np.int64
    assert labels.tolist() == [0] * 6400
    assert list(tmp_path.iterdir()) == []


def arrays(**changed):
    given = {
        "train_inputs": np.zeros((3, 2)),
        "train_targets": np.array([0, 1, 1], np.int32),
        "test_inputs": np.zeros((1, 2)),
        "test_targets": np.array([0], np.uint8),
    }
    return Arrays(**{**given, **changed})


def test_arrays_are_cast_to_the_types_of_training_and_others_are_told(tmp_path):
    backwards = np.arange(6.0).reshape(3, 2)[::-1]
    cast = loading.checked_arrays("mine", SOURCE, arrays(train_inputs=backwards), tmp_path)
    assert torch.from_numpy(cast.train_inputs).tolist() == backwards.tolist()
    assert cast.train_inputs.dtype == cast.test_inputs.dtype == np.float32
    assert cast.train_targets.dtype == cast.test_targets.dtype == np.int64
    for returned in (None, tuple(vars(arrays()).values())):
        with pytest.raises(UserError, match=f"returned a {type(returned).__name__}; expected ngo"):
            loading.checked_arrays("mine", SOURCE, returned, tmp_path)


@cases(
    "changed, message",
    ({"train_inputs": np.zeros((3, 4))}, r"train_inputs have shape \(3, 4\); expected \(2,\)"),
    ({"train_inputs": np.zeros((2, 2))}, "there are 3 train_targets; expected 2"),
    ({"test_targets": np.array([2])}, "test_targets are 2 to 2; expected 0 to 1"),
    ({"test_targets": np.array([-1])}, "test_targets are -1 to -1; expected 0 to 1"),
    ({"test_targets": np.array([0.5])}, "test_targets are float32; expected int64 labels"),
    ({"test_targets": np.array(["a"])}, "test_targets are <U1 of shape .*; expected numbers"),
    ({"test_inputs": np.zeros((1, 2), int)}, "test_inputs are int64 .* uint8 .* float32"),
    ({"train_inputs": np.zeros((2, 2)), "train_targets": np.zeros(2, int)}, "there are 2 tra"),
)
def test_arrays_that_contradict_the_registered_facts(tmp_path, changed, message):
    with pytest.raises(UserError, match=f"dataset 'mine': {message}"):
        loading.checked_arrays("mine", SOURCE, arrays(**changed), tmp_path)


def test_classes_are_balanced_and_the_part_is_fixed():
    data = load("digits", ".")
    part = samples_of(data, 103)
    counts = np.bincount(data.test_targets.numpy()[part], minlength=10)
    assert len(set(part)) == 103
    assert (np.diff(part) > 0).all()
    assert set(counts) == {10, 11}
    assert np.array_equal(part, samples_of(data, 103))
    assert set(samples_of(data, 50)) <= set(part), "a smaller part lies within a larger one"


def coded(b, size=8):
    """Images whose pixels tell row and column: 1 + row in channel 0, 1 + column in channel 1."""
    rows = torch.arange(1, size + 1, dtype=torch.uint8)
    image = torch.stack([rows[:, None].expand(-1, size), rows[None].expand(size, -1)])
    return image.expand(b, -1, -1, -1).contiguous()


def test_each_image_is_a_window_of_its_padded_self_flipped_or_not():
    images = coded(400)
    padded = torch.nn.functional.pad(images, [PADDING] * 4)
    found = crop_flip.of_workers(images, len(images), [torch_stream(0, "test")])
    windows = padded.unfold(2, 8, 1).unfold(3, 8, 1)[0].permute(1, 2, 0, 3, 4).flatten(0, 1)
    either = torch.stack([windows, windows.flip(3)])  # [2, 81, 2, 8, 8]
    same = (found[:, None, None] == either[None]).flatten(3).all(3)
    assert same.flatten(1).sum(1).eq(1).all()
    assert 150 < same[:, 1].sum() < 250, "about half of the images are flipped"
    counts = same.any(1).sum(0)
    assert (counts > 0).sum() > 75, "nearly all of the 81 positions occur in 400 draws"


# What is downloaded, verified and unpacked, and what is told where it can't be.


def no_network(*_, **__):
    raise urllib.error.URLError("no network")


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: bytes([b[0] ^ 1]) + b[1:]])
def test_a_corrupt_file_stops_everything(tiny, damage):
    name, root, _ = tiny
    path = root / "MNIST/raw/train-images-idx3-ubyte"
    path.write_bytes(damage(path.read_bytes()))
    for call in (loading.load, download.check, download.prepare, loading.train_labels):
        refused("train-images-idx3-ubyte' is corrupt or truncated", call, name, root)


def test_without_data_and_network_the_error_says_what_to_do(tiny, monkeypatch, tmp_path):
    name, root, _ = tiny
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    (root / "MNIST/raw/t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(UserError, match=r"\(no network\).*t10k-labels-idx1-ubyte .*NGO_DATA.*demo"):
        download.prepare(name, root)
    empty = root / "nowhere"
    refused("can't be downloaded", download.prepare, name, empty)
    assert not empty.exists()
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    for name, wanted in (
        ("mnist", "raw/t10k-labels-idx1-ubyte (or .gz) there"),
        ("cifar10", "cifar-10-batches-py/batches.meta or cifar-10-python.tar.gz there"),
        ("tinyimagenet", "Put tiny-imagenet-200 or tiny-imagenet-200.zip there"),
    ):
        error = mistake_of(download.check, name, tmp_path)
        assert wanted in error
        assert "make demo" in error


def md5(path):
    return hashlib.md5(path.read_bytes()).hexdigest()


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder from which torchvision's function downloads."""
    folder = tmp_path / "served"
    folder.mkdir()

    def download_url(url, root, md5):
        source, target = folder / url.rpartition("/")[2], Path(root)
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        if hashlib.md5(source.read_bytes()).hexdigest() != md5:
            raise RuntimeError("File not found or corrupted.")

    utils = SimpleNamespace(download_url=download_url)
    monkeypatch.setitem(sys.modules, "torchvision.datasets.utils", utils)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: io.BytesIO())
    return folder


def packed(path, contents):
    """An archive with these files, or one file compressed."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    elif path.name.endswith(".tar.gz"):
        with tarfile.open(path, "w:gz") as archive:
            for name, content in contents.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    else:
        path.write_bytes(gzip.compress(*contents.values()))
    return path


def offered(name, monkeypatch, *files, folder="."):
    """Let the data set be downloaded as these files."""
    downloads = tuple(Download(f"https://host/{file.name}", md5(file), folder) for file in files)
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], downloads=downloads))


@pytest.mark.parametrize("archive", ["all.zip", "all.tar.gz"])
def test_an_archive_is_downloaded_and_unpacked(tiny, served, tmp_path, monkeypatch, archive):
    name, _, contents = tiny
    offered(name, monkeypatch, packed(served / archive, contents))
    download.prepare(name, tmp_path / "target")
    assert download.verify(name, tmp_path / "target") == []
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["MNIST"]


def test_an_archive_below_the_root_is_read_without_network(tiny, tmp_path, monkeypatch):
    """Nor torchvision: by ``ngo data`` and by a job."""
    name, _, contents = tiny
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    monkeypatch.setitem(sys.modules, "torchvision.datasets.utils", None)
    root = tmp_path / "target"
    root.mkdir()
    archive = packed(root / "all.tar.gz", contents)
    offered(name, monkeypatch, archive)
    assert len(loading.load(name, root).train_inputs) > 0
    assert {path.name for path in root.iterdir()} == {"MNIST", "all.tar.gz"}
    shutil.rmtree(root / "MNIST")
    archive.write_bytes(archive.read_bytes()[:-1])
    refused("all.tar.gz' is corrupt or truncated", loading.load, name, root)


@pytest.mark.parametrize("archive", ["all.zip", "all.tar.gz"])
def test_an_archive_is_unpacked_below_its_folder_only(tiny, served, tmp_path, monkeypatch, archive):
    members = dict.fromkeys(("../outside", f"{tmp_path}/outside"), b"x")
    offered(tiny[0], monkeypatch, packed(served / archive, members))
    with pytest.raises(UserError, match="outside|does not contain MNIST/raw/train-im"):
        download.prepare(tiny[0], tmp_path / "target")
    assert list((tmp_path / "target").iterdir()) == []
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("broken", [None, "absent", "corrupt"])
def test_a_download_is_complete_or_leaves_nothing(tiny, served, tmp_path, monkeypatch, broken):
    name, _, contents = tiny
    names = {file: served / f"{Path(file).name}.gz" for file in contents}
    files = [packed(names[file], {file: content}) for file, content in contents.items()]
    offered(name, monkeypatch, *files, folder="MNIST/raw")
    sums = {name: ("plain", md5(file)) for name, file in zip(contents, files, strict=True)}
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], files=sums))
    if broken == "absent":
        files[-1].unlink()
    elif broken == "corrupt":
        files[-1].write_bytes(files[-1].read_bytes()[:-1])
    target = tmp_path / "target"
    if broken:
        refused(r"can't be downloaded \(.*\). Put", download.prepare, name, target)
        assert list(target.iterdir()) == []
    else:
        download.prepare(name, target)
        assert download.verify(name, target) == []
        there = {path.name for path in (target / "MNIST/raw").iterdir()}
        assert there == {file.name for file in files}


def test_the_data_root_is_given_or_from_the_environment_or_the_config(monkeypatch, tmp_path):
    monkeypatch.setenv("NGO_DATA", "/environment")
    assert str(download.data_root("/given", "/config")) == "/given"
    assert str(download.data_root(None, "/config")) == "/environment"
    monkeypatch.delenv("NGO_DATA")
    assert str(download.data_root(None, "/config")) == "/config"
    assert str(download.data_root()) == "data"
    (tmp_path / "file").write_text("")
    refused("data.root: '.*file' is not a folder", download.data_root, tmp_path / "file")


def test_data_and_owners_that_are_others_each_time_are_refused(own_entries, tmp_path):
    """Two runs had other data, each without a word."""
    drawn = np.zeros((10, 2), np.float32)

    @ngo.dataset("own", train_samples=8, input_shape=(2,), classes=None)
    def own(root):
        drawn[:] = np.random.rand(10, 2)  # in the memory of what it returned before
        return Arrays(drawn[:8], drawn[:8, :1], drawn[8:], drawn[8:, :1])

    refused("dataset 'own': it has other values when it is read again", load, "own", tmp_path)
    ngo.owners("own")(lambda root: np.random.randint(0, 1000, 8))
    refused("dataset 'own': its owners are others when", sample_owners, "own", tmp_path)


def test_empty_parts_are_refused(own_entries, tmp_path):
    @ngo.dataset("own", train_samples=8, input_shape=(2,), classes=None)
    def own(root):
        return Arrays(np.ones((8, 2)), np.ones((8, 1)), np.ones((0, 2)), np.ones((0, 1)))

    refused("dataset 'own': test_inputs are empty; expected", load, "own", tmp_path)
