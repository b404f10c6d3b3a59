import gzip
import hashlib
import pickle

import numpy as np
import pytest
import torch
from conftest import idx

from ngo import datasets, image_files
from ngo.registry import UserError


@pytest.fixture
def cifar(tmp_path, monkeypatch):
    """A data root with CIFAR-10's layout, two images in each batch: images and labels by batch."""
    rng = np.random.default_rng(0)
    batches, sums = {}, {}
    (tmp_path / "cifar-10-batches-py").mkdir()
    for file in image_files.CIFAR10_FILES:
        images = rng.integers(0, 256, (2, 3072), dtype=np.uint8)
        labels = rng.integers(0, 10, 2).tolist()
        batches[file.split("/")[1]] = images, labels
        content = pickle.dumps({b"data": images, b"labels": labels}, protocol=3)
        content = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")  # released
        (tmp_path / file).write_bytes(content)
        sums[file] = (hashlib.md5(content).hexdigest(),)
    source = datasets.DATASETS["cifar10"]
    replaced = type(source)(**{**vars(source), "files": sums})
    monkeypatch.setitem(datasets.DATASETS, "cifar10", replaced)
    return tmp_path, batches


def test_idx_files_plain_and_compressed(tmp_path):
    array = np.arange(24).reshape(2, 3, 4)
    (tmp_path / "plain").write_bytes(idx(array))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx(array)))
    for name in ("plain", "packed"):
        assert np.array_equal(image_files.read_idx(tmp_path / name), array)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\0", idx(np.zeros((2, 3)))[:-1], idx(np.zeros((2, 3))) + b"x", b"\1" * 40],
)
def test_a_damaged_idx_file_is_named(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UserError, match=r"data.root: '.*file' is no idx file"):
        image_files.read_idx(tmp_path / "file")


def test_a_truncated_archive_is_named(tmp_path):
    packed = gzip.compress(idx(np.random.default_rng(0).integers(0, 256, (30, 30))))
    (tmp_path / "file.gz").write_bytes(packed[:-20])
    with pytest.raises(UserError, match=r"file.gz' is no idx file"):
        image_files.read_idx(tmp_path / "file")


def test_cifar_batches_are_stacked_in_their_order(cifar):
    root, batches = cifar
    data = datasets.load("cifar10", root)
    train = [batches[f"data_batch_{i}"] for i in range(1, 6)]
    assert data.train_targets.tolist() == [label for _, labels in train for label in labels]
    assert data.test_targets.tolist() == batches["test_batch"][1]
    assert data.train_inputs.dtype == torch.uint8
    assert data.train_inputs.shape == (10, 3, 32, 32)
    # A row of a batch is all red values, then green, then blue; each row by row.
    assert data.train_inputs[3, 1, 2, 5] == train[1][0][1, 1024 + 2 * 32 + 5]
    assert data.mean.shape == data.std.shape == (3, 1, 1)
    labels = datasets.train_labels("cifar10", root)
    assert labels.dtype == np.int64
    assert labels.tolist() == data.train_targets.tolist()


def test_a_batch_with_a_flipped_bit_is_named(cifar):
    root, _ = cifar
    path = root / "cifar-10-batches-py/data_batch_3"
    content = path.read_bytes()
    path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with pytest.raises(UserError, match="data_batch_3' is corrupt or truncated"):
        datasets.train_labels("cifar10", root)


def test_a_batch_that_calls_a_function_is_refused(tmp_path):
    class Harm:
        def __reduce__(self):
            return (print, ("harm",))

    path = tmp_path / "data_batch_1"
    path.write_bytes(pickle.dumps({b"data": Harm()}))
    with pytest.raises(UserError, match=r"data_batch_1' is no CIFAR-10 batch: .*builtins.print"):
        image_files.read_batch(path)


def test_digits_are_scikit_learns(tmp_path):
    from sklearn.datasets import load_digits

    table = image_files.digits_table()
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
    assert data.train_inputs.shape == (1437, 1, 28, 28)
    assert data.test_inputs.shape == (360, 1, 28, 28)
    assert len(data.train_inputs) == datasets.DATASETS["digits"].train_samples
    assert data.train_targets.numpy().tolist() == datasets.train_labels("digits", tmp_path).tolist()
    assert int(data.train_inputs.max()) == 255
    assert torch.unique(data.test_targets).tolist() == list(range(10))
