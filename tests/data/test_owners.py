from dataclasses import replace

import numpy as np
import pytest

import ngo
from ngo.common.registry import UserError
from ngo.data.dataset import DATASETS
from ngo.data.partition import OWNERS, PARTITIONS, by_owner, sample_owners


@pytest.fixture
def owned(monkeypatch):
    """Four digits, with the names of those who wrote them."""
    monkeypatch.setitem(DATASETS, "four", replace(DATASETS["digits"], train_samples=4))
    monkeypatch.setitem(OWNERS, "four", lambda root: ["eve", "adam", "eve", "bob"])


def test_owners_are_numbered_in_the_order_of_their_names(owned, tmp_path):
    found = sample_owners("four", tmp_path)
    assert found.dtype == np.int64
    assert found.tolist() == [[2], [0], [2], [1]]


def test_each_sample_needs_an_owner(owned, tmp_path, monkeypatch):
    monkeypatch.setitem(OWNERS, "four", lambda root: np.zeros(3))
    with pytest.raises(UserError, match=r"'four': its owners have shape \(3,\); expected \(4,\)"):
        sample_owners("four", tmp_path)


def test_a_partition_divides_by_owners_if_its_first_parameter_says_so():
    assert [name for name, rule in PARTITIONS.items() if by_owner(rule)] == ["natural"]


def test_the_decorator_is_part_of_the_interface(own_entries):
    @ngo.owners("digits")
    def writers(root):
        return np.arange(1437) % 3

    assert OWNERS["digits"] is writers
