import numpy as np
import pytest
from partition_cases import assert_disjoint, stream

from ngo.common.registry import UserError
from ngo.data.partitions.natural import natural

OWNERS = np.random.default_rng(0).integers(0, 7, 200)[:, None]


def test_as_many_owners_as_workers_are_assigned_in_their_order():
    parts = natural(OWNERS, 7, generator=stream())
    assert all((OWNERS[part, 0] == i).all() for i, part in enumerate(parts))
    assert sum(map(len, parts)) == 200
    assert_disjoint(parts, 200)


def test_more_owners_are_dealt_out_whole_evenly_and_by_the_seed():
    parts = natural(OWNERS, 3, generator=stream())
    owned = [set(OWNERS[part, 0].tolist()) for part in parts]
    assert sorted(map(len, owned)) == [2, 2, 3]
    assert set.union(*owned) == set(range(7))
    assert sum(map(len, parts)) == 200
    assert_disjoint(parts, 200)
    again, other = natural(OWNERS, 3, generator=stream()), natural(OWNERS, 3, generator=stream(1))
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(parts, other, strict=True))


def test_fewer_owners_than_workers_and_labels_are_refused():
    with pytest.raises(UserError, match=r"workers: 8 is out of range; .* 1 to 7 \(owners\)"):
        natural(OWNERS, 8, generator=stream())
    with pytest.raises(UserError, match=r"'natural' needs the owners of the samples"):
        natural(OWNERS[:, 0], 7, generator=stream())
