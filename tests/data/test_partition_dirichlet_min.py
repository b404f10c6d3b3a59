import numpy as np
import pytest
from partition_cases import LABELS, assert_disjoint, stream

from ngo.common.registry import UserError
from ngo.data.partitions.dirichlet import dirichlet
from ngo.data.partitions.dirichlet_min import dirichlet_min


@pytest.mark.parametrize("seed", range(5))
def test_each_worker_has_the_smallest_share_and_each_sample_one_owner(seed):
    parts = dirichlet_min(LABELS, 6, beta=0.3, smallest=40, generator=stream(seed))
    assert min(map(len, parts)) >= 40
    assert sum(map(len, parts)) == 600
    assert_disjoint(parts, 600)


def test_a_first_draw_that_is_large_enough_is_that_of_dirichlet():
    plain = dirichlet(LABELS, 6, beta=0.5, generator=stream())
    least = min(map(len, plain))
    same = dirichlet_min(LABELS, 6, beta=0.5, smallest=least, generator=stream())
    other = dirichlet_min(LABELS, 6, beta=0.5, smallest=least + 1, generator=stream())
    assert all(np.array_equal(a, b) for a, b in zip(plain, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(plain, other, strict=True))


def test_a_share_that_no_draw_has_is_named():
    with pytest.raises(UserError, match="smallest: 99 samples for each of 6 workers are in none"):
        dirichlet_min(LABELS, 6, beta=0.01, smallest=99, generator=stream())
    with pytest.raises(UserError, match="workers × smallest: 606 is out of range"):
        dirichlet_min(LABELS, 6, beta=1, smallest=101, generator=stream())
