import hashlib
import io
import shutil
import urllib.error

import numpy as np
import pytest
import torch
from conftest import idx, real

from ngo import datasets, tinyimagenet
from ngo.registry import UserError


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A data set of MNIST's layout with two training images, in a folder; (name, root)."""
    rng = np.random.default_rng(0)
    arrays = {
        "train-images-idx3-ubyte": rng.integers(0, 256, (2, 28, 28)),
        "train-labels-idx1-ubyte": np.array([3, 7]),
        "t10k-images-idx3-ubyte": rng.integers(0, 256, (1, 28, 28)),
        "t10k-labels-idx1-ubyte": np.array([1]),
    }
    root = tmp_path / "root"
    folder = root / "MNIST/raw"
    folder.mkdir(parents=True)
    for name, array in arrays.items():
        (folder / name).write_bytes(idx(array))
    sums = {
        f"MNIST/raw/{name}": (hashlib.md5(idx(array)).hexdigest(),)
        for name, array in arrays.items()
    }
    source = datasets.DATASETS["mnist"]
    monkeypatch.setitem(datasets.DATASETS, "tiny", type(source)(**{**vars(source), "files": sums}))
    return "tiny", root


def no_network(*_, **__):
    raise urllib.error.URLError("no network")


def test_a_data_set_as_tensors(tiny):
    name, root = tiny
    data = datasets.load(name, root)
    assert data.train_inputs.shape == (2, 1, 28, 28)
    assert data.train_inputs.dtype == torch.uint8
    assert data.train_targets.tolist() == [3, 7]
    pixels = data.train_inputs.double() / 255
    assert data.mean.item() == pytest.approx(pixels.mean().item(), rel=1e-6)
    assert data.std.item() == pytest.approx(pixels.std(correction=0).item(), rel=1e-6)
    normalised = data.normalised(data.train_inputs).double()
    assert normalised.mean().item() == pytest.approx(0, abs=1e-6)
    assert normalised.std(correction=0).item() == pytest.approx(1, rel=1e-5)
    assert datasets.train_labels(name, root).tolist() == [3, 7]


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: bytes([b[0] ^ 1]) + b[1:]])
def test_a_corrupt_file_stops_everything(tiny, damage):
    name, root = tiny
    path = root / "MNIST/raw/train-images-idx3-ubyte"
    path.write_bytes(damage(path.read_bytes()))
    for call in (datasets.load, datasets.check, datasets.prepare, datasets.train_labels):
        with pytest.raises(UserError, match="train-images-idx3-ubyte' is corrupt or truncated"):
            call(name, root)


def test_without_data_and_network_the_error_says_what_to_do(tiny, monkeypatch):
    name, root = tiny
    monkeypatch.setattr(datasets.urllib.request, "urlopen", no_network)
    (root / "MNIST/raw/t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(UserError, match=r"\(no network\).*t10k-labels-idx1-ubyte .*NGO_DATA.*demo"):
        datasets.prepare(name, root)
    empty = root / "nowhere"
    with pytest.raises(UserError, match="can't be downloaded"):
        datasets.prepare(name, empty)
    assert not empty.exists()


def test_an_absent_file_is_named_as_it_may_lie_there(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.urllib.request, "urlopen", no_network)
    for name, wanted in (
        ("mnist", "raw/t10k-labels-idx1-ubyte (or .gz) there"),
        ("cifar10", "cifar-10-batches-py/test_batch, cifar-10-batches-py/batches.meta there"),
        ("tinyimagenet", "Put tiny-imagenet-200 there"),
    ):
        with pytest.raises(UserError) as error:
            datasets.check(name, tmp_path)
        assert wanted in str(error.value)
        assert "make demo" in str(error.value)


def test_a_file_is_summed_once_until_it_changes(tiny, monkeypatch):
    name, root = tiny
    datasets.check(name, root)
    path = root / "MNIST/raw/t10k-labels-idx1-ubyte"
    opened = []
    original = datasets.hashlib.file_digest

    def counted(file, algorithm):
        opened.append(file.name)
        return original(file, algorithm)

    monkeypatch.setattr(datasets.hashlib, "file_digest", counted)
    datasets.load(name, root)
    assert opened == []
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(UserError, match="t10k-labels-idx1-ubyte' is corrupt"):
        datasets.check(name, root)
    assert opened == [str(path)]


def test_moments_are_exact_across_chunks():
    images = np.random.default_rng(0).integers(0, 256, (1500, 3, 4, 4), dtype=np.uint8)
    pixels = images.transpose(1, 0, 2, 3).reshape(3, -1) / 255
    mean, std = datasets._moments(images)
    assert mean == pytest.approx(pixels.mean(1), rel=1e-12)
    assert std == pytest.approx(pixels.std(1), rel=1e-12)


@pytest.mark.parametrize("name", ["sine", "least_squares"])
def test_regression_data_is_float_and_has_no_classes(name, tmp_path):
    data, source = datasets.load(name, tmp_path), datasets.DATASETS[name]
    assert data.classes is source.classes is None
    assert data.mean is data.std is None
    assert data.train_inputs.shape == (source.train_samples, *source.input_shape)
    assert data.train_targets.shape == (6400, 1)
    assert len(data.test_inputs) == len(data.test_targets) == 1600
    assert {t.dtype for t in (data.train_inputs, data.test_targets)} == {torch.float32}
    assert data.normalised(data.test_inputs) is data.test_inputs
    labels = datasets.train_labels(name, tmp_path)
    assert labels.dtype == np.int64
    assert labels.tolist() == [0] * 6400
    assert list(tmp_path.iterdir()) == []


def test_a_download_lands_whole_or_not_at_all(tiny, tmp_path, monkeypatch):
    name, root = tiny
    source = datasets.DATASETS[name]
    monkeypatch.setattr(datasets.urllib.request, "urlopen", lambda *_, **__: io.BytesIO())

    def breaks(folder):
        (folder / "MNIST/raw").mkdir(parents=True)
        (folder / "MNIST/raw/train-images-idx3-ubyte").write_bytes(b"half")
        raise ConnectionError("gone")

    def arrives(folder):
        shutil.copytree(root / "MNIST", folder / "MNIST")

    target = tmp_path / "target"
    for download, lands in ((breaks, False), (arrives, True)):
        replaced = type(source)(**{**vars(source), "download": download})
        monkeypatch.setitem(datasets.DATASETS, name, replaced)
        if lands:
            datasets.prepare(name, target)
            assert datasets.verify(name, target) == []
        else:
            with pytest.raises(UserError, match="can't be downloaded"):
                datasets.prepare(name, target)
            assert list(target.iterdir()) == []
    assert [path.name for path in target.iterdir()] == ["MNIST"]


def test_the_root_is_the_given_one_then_the_environments_then_the_configs(monkeypatch):
    monkeypatch.setenv("NGO_DATA", "/environment")
    assert str(datasets.data_root("/given", "/config")) == "/given"
    assert str(datasets.data_root(None, "/config")) == "/environment"
    monkeypatch.delenv("NGO_DATA")
    assert str(datasets.data_root(None, "/config")) == "/config"
    assert str(datasets.data_root()) == "data"


def test_real_mnist(mnist_root):
    data = datasets.load("mnist", mnist_root)
    assert data.train_inputs.shape == (60_000, 1, 28, 28)
    assert torch.bincount(data.test_targets).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert (data.mean.item(), data.std.item()) == pytest.approx((0.1307, 0.3081), abs=1e-4)


def test_real_cifar():
    root = real("cifar-10-batches-py/test_batch")
    data = datasets.load("cifar10", root)
    assert data.train_inputs.shape == (50_000, 3, 32, 32)
    assert torch.bincount(data.train_targets).tolist() == [5000] * 10
    assert torch.bincount(data.test_targets).tolist() == [1000] * 10
    assert data.mean.flatten().tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)
    assert data.std.flatten().tolist() == pytest.approx([0.2470, 0.2435, 0.2616], abs=1e-4)


def test_real_tinyimagenet():
    found = tinyimagenet.listing(real(f"{tinyimagenet.FOLDER}/wnids.txt"))
    assert set(found.train_labels) == set(found.test_labels) == set(range(200))
    assert found.train[0].startswith("train/n01443537/")  # goldfish, the first id
    assert len(found.train) <= tinyimagenet.TRAIN


@pytest.mark.parametrize("name", ["digits", "sine", "least_squares"])
def test_loaded_labels_are_those_that_are_read_alone(name, tmp_path):
    read = datasets.train_labels(name, tmp_path)
    loaded = datasets.load(name, tmp_path).labels
    assert loaded.dtype == read.dtype
    assert np.array_equal(loaded, read)
