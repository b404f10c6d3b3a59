import gzip
import hashlib
import io
import shutil
import struct
import urllib.error

import numpy as np
import pytest
import torch

from ngo import datasets
from ngo.registry import UserError


def idx(array: np.ndarray) -> bytes:
    head = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}i", *array.shape)
    return head + array.astype(np.uint8).tobytes()


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


def test_idx_files_plain_and_compressed(tmp_path):
    array = np.arange(24).reshape(2, 3, 4)
    (tmp_path / "plain").write_bytes(idx(array))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx(array)))
    for name in ("plain", "packed"):
        assert np.array_equal(datasets.read_idx(tmp_path / name), array)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\0", idx(np.zeros((2, 3)))[:-1], idx(np.zeros((2, 3))) + b"x", b"\1" * 40],
)
def test_a_damaged_idx_file_is_named(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UserError, match=r"data.root: '.*file' is no idx file"):
        datasets.read_idx(tmp_path / "file")


def test_a_truncated_archive_is_named(tmp_path):
    packed = gzip.compress(idx(np.random.default_rng(0).integers(0, 256, (30, 30))))
    (tmp_path / "file.gz").write_bytes(packed[:-20])
    with pytest.raises(UserError, match=r"file.gz' is no idx file"):
        datasets.read_idx(tmp_path / "file")


def test_a_data_set_as_tensors(tiny):
    name, root = tiny
    data = datasets.load(name, root)
    assert data.train_images.shape == (2, 1, 28, 28)
    assert data.train_images.dtype == torch.uint8
    assert data.train_labels.tolist() == [3, 7]
    pixels = data.train_images.double() / 255
    assert data.mean.item() == pytest.approx(pixels.mean().item(), rel=1e-6)
    assert data.std.item() == pytest.approx(pixels.std(correction=0).item(), rel=1e-6)
    normalised = data.normalised(data.train_images).double()
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
    with pytest.raises(UserError, match=r"t10k-labels-idx1-ubyte .*NGO_DATA.*make demo"):
        datasets.prepare(name, root)
    empty = root / "nowhere"
    with pytest.raises(UserError, match="can't be downloaded"):
        datasets.prepare(name, empty)
    assert not empty.exists()


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


def test_digits_are_scikit_learns(tmp_path):
    from sklearn.datasets import load_digits

    table = datasets._digits_table()
    bundled = load_digits()
    rows = {tuple(row) for row in table.tolist()}
    assert len(table) == 1797
    assert rows == {
        (*image, label)
        for image, label in zip(
            bundled.data.astype(int).tolist(), bundled.target.tolist(), strict=True
        )
    }
    data = datasets.load("digits", tmp_path)
    assert data.train_images.shape == (1437, 1, 28, 28)
    assert data.test_images.shape == (360, 1, 28, 28)
    assert len(data.train_images) == datasets.DATASETS["digits"].train_samples
    assert data.train_labels.numpy().tolist() == datasets.train_labels("digits", tmp_path).tolist()
    assert int(data.train_images.max()) == 255
    assert torch.unique(data.test_labels).tolist() == list(range(10))


def test_the_root_is_the_given_one_then_the_environments_then_the_configs(monkeypatch):
    monkeypatch.setenv("NGO_DATA", "/environment")
    assert str(datasets.data_root("/given", "/config")) == "/given"
    assert str(datasets.data_root(None, "/config")) == "/environment"
    monkeypatch.delenv("NGO_DATA")
    assert str(datasets.data_root(None, "/config")) == "/config"
    assert str(datasets.data_root()) == "data"


def test_real_mnist(mnist_root):
    data = datasets.load("mnist", mnist_root)
    assert data.train_images.shape == (60_000, 1, 28, 28)
    assert torch.bincount(data.test_labels).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert (data.mean.item(), data.std.item()) == pytest.approx((0.1307, 0.3081), abs=1e-4)
