import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partition_cases import LABELS, assert_disjoint, stream

from ngo.common.registry import UserError
from ngo.data.partitions.iid import iid


@settings(deadline=None)
@given(n=st.integers(1, 50), seed=st.integers(0, 100))
def test_iid_is_exhaustive_and_even(n, seed):
    parts = iid(LABELS, n, generator=stream(seed))
    assert_disjoint(parts, 600)
    assert sum(map(len, parts)) == 600
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_more_workers_than_samples():
    with pytest.raises(UserError, match="workers: 601 is out of range; it must be 1 to 600"):
        iid(LABELS, 601, generator=stream())
