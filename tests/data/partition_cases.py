"""What the tests of partitions share."""

import numpy as np

from ngo.common.seeding import numpy_stream

# 60 samples of each of 10 classes, in random order.
LABELS = np.repeat(np.arange(10), 60)[numpy_stream(0, "test/labels").permutation(600)]


def stream(seed=0):
    return numpy_stream(seed, "partition")


def assert_disjoint(parts, m):
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together)
    assert set(together.tolist()) <= set(range(m))
