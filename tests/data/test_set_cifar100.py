from dataclasses import replace

import pytest
from tiny_cifar import tiny_cifar

from ngo.common.registry import UserError
from ngo.data import loading
from ngo.data.dataset import DATASETS
from ngo.data.sets import cifar100


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A data root with CIFAR-100's layout, four images in each file: the images and labels."""
    return tiny_cifar(tmp_path, monkeypatch, "cifar100", cifar100.FILES, b"fine_labels", 4, 4)


def test_labels_are_the_fine_ones_and_a_row_is_red_green_blue(tiny):
    root, files = tiny
    data = loading.load("cifar100", root)
    assert data.train_targets.tolist() == files["train"][1]
    assert data.test_targets.tolist() == files["test"][1]
    assert loading.train_labels("cifar100", root).tolist() == files["train"][1]
    assert data.train_inputs.shape == (4, 3, 32, 32)
    assert data.test_inputs[3, 1, 2, 5] == files["test"][0][3, 1024 + 2 * 32 + 5]


def test_absent_files_are_named(tmp_path, monkeypatch):
    source = replace(DATASETS["cifar100"], downloads=())
    monkeypatch.setitem(DATASETS, "cifar100", source)
    wanted = "Put cifar-100-python/train, cifar-100-python/test, cifar-100-python/meta there"
    with pytest.raises(UserError, match=wanted):
        loading.load("cifar100", tmp_path)
