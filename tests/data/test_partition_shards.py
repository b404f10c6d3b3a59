import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partition_cases import LABELS, assert_disjoint, stream

from ngo.common.registry import UserError
from ngo.data.partition import PARTITIONS
from ngo.data.partitions.shards import shards


def drawn(n, number, per_worker, seed=0, labels=LABELS):
    return shards(labels, n, shards=number, shards_per_worker=per_worker, generator=stream(seed))


@settings(deadline=None)
@given(n=st.integers(1, 12), per_worker=st.integers(1, 4), seed=st.integers(0, 100))
def test_shards_are_disjoint_and_of_few_classes(n, per_worker, seed):
    parts = drawn(n, 60, per_worker, seed)
    assert_disjoint(parts, 600)
    assert [len(part) for part in parts] == [10 * per_worker] * n
    for part in parts:  # 60 shards of 10 within classes of 60: a shard is of one class
        assert len(np.unique(LABELS[part])) <= per_worker


def test_no_draw_gives_owners_to_more_samples_than_the_rule_says():
    """600 samples in 7 shards: five of 86 and two of 85."""
    owned = {sum(map(len, drawn(2, 7, 1, seed))) for seed in range(40)}
    assert owned == {170, 171, 172}
    rule = PARTITIONS["shards"]
    assert rule.owned(600, 2, shards=7, shards_per_worker=1) == 172
    assert rule.owned(600, 3, shards=7, shards_per_worker=2) == 5 * 86 + 85
    assert rule.smallest_share(600, 3, shards=7, shards_per_worker=2) == 2 * 85


def test_taking_every_shard_takes_every_sample():
    parts = drawn(10, 40, 4)
    assert sorted(np.concatenate(parts).tolist()) == list(range(600))


def test_the_papers_mnist_setting_uses_4000_images():
    parts = drawn(10, 300, 2, labels=np.repeat(np.arange(10), 6000))
    assert [len(part) for part in parts] == [400] * 10


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (601, "shards: 601 is out of range; it must be 1 to 600 .samples."),
        (19, "workers × shards_per_worker: 20 is out of range; it must be 1 to 19 .shards."),
    ],
)
def test_too_many_or_too_few_shards(number, message):
    with pytest.raises(UserError, match=message):
        drawn(10, number, 2)
