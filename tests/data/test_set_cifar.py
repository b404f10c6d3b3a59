import pickle

import numpy as np
import pytest
import torch
from conftest import real
from tiny_cifar import tiny_cifar

from ngo.common.registry import UserError
from ngo.data import loading
from ngo.data.sets.cifar import CIFAR10, CIFAR100, read_batch


@pytest.fixture
def cifar(tmp_path, monkeypatch):
    """A data root with CIFAR-10's layout, two images per batch: images and labels by batch."""
    return tiny_cifar(tmp_path, monkeypatch, "cifar10", CIFAR10, b"labels", 2, 10)


def test_batches_are_stacked_in_order(cifar):
    root, batches = cifar
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


def test_labels_are_the_fine_ones(tmp_path, monkeypatch):
    root, files = tiny_cifar(tmp_path, monkeypatch, "cifar100", CIFAR100, b"fine_labels", 4, 4)
    data = loading.load("cifar100", root)
    assert data.train_targets.tolist() == files["train"][1]
    assert data.test_targets.tolist() == files["test"][1]
    assert data.test_inputs[3, 1, 2, 5] == files["test"][0][3, 1024 + 2 * 32 + 5]


def test_a_batch_with_a_flipped_bit_is_named(cifar):
    root, _ = cifar
    path = root / "cifar-10-batches-py/data_batch_3"
    content = path.read_bytes()
    path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with pytest.raises(UserError, match="data_batch_3' is corrupt or truncated"):
        loading.train_labels("cifar10", root)


@pytest.mark.parametrize("content", [b"cos\nsystem\nC\x09touch ran\x85R.", pickle.dumps([1]), b""])
def test_a_file_of_other_things_is_refused_and_runs_nothing(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b").write_bytes(content)
    with pytest.raises(UserError, match="^data.root: '.*b' is not a batch: ") as told:
        read_batch(tmp_path / "b", b"labels", "a batch")
    assert "\n" not in str(told.value)
    assert not (tmp_path / "ran").exists()


def test_real_cifar10():
    root = real("cifar-10-batches-py/test_batch")
    data = loading.load("cifar10", root)
    assert data.train_inputs.shape == (50_000, 3, 32, 32)
    assert torch.bincount(data.train_targets).tolist() == [5000] * 10
    assert torch.bincount(data.test_targets).tolist() == [1000] * 10
    assert data.mean.flatten().tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)
    assert data.std.flatten().tolist() == pytest.approx([0.2470, 0.2435, 0.2616], abs=1e-4)
