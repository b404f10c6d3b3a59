import numpy as np
import pytest
from partition_cases import assert_disjoint

from ngo.common.registry import UserError
from ngo.common.seeding import numpy_stream
from ngo.data.partition import PARTITIONS
from ngo.data.partitions.equal import equal


@pytest.mark.parametrize("n", [1, 4, 16])
def test_equal_shares_for_any_number_of_workers(n):
    parts = equal(np.zeros(200), n, samples_per_worker=12, generator=numpy_stream(0, "test"))
    assert [len(part) for part in parts] == [12] * n
    assert_disjoint(parts, 200)
    assert PARTITIONS["equal"].owned(200, n, samples_per_worker=12) == 12 * n
    assert PARTITIONS["equal"].smallest_share(200, n, samples_per_worker=12) == 12


def test_more_shares_than_samples():
    with pytest.raises(UserError, match="workers × samples_per_worker: 204 is out of range"):
        equal(np.zeros(200), 17, samples_per_worker=12, generator=numpy_stream(0, "test"))
