import numpy as np

from ngo.common.seeding import numpy_stream
from ngo.data.partition import PARTITIONS, samples_by_class
from ngo.data.partitions.cliques import greedy_swap, skew

LABELS = np.tile(np.arange(10), 600)
SHARDS = {"shards": 200, "shards_per_worker": 2}


def drawn(name, **values):
    """100 workers with two shards each."""
    stream = numpy_stream(0, "partition")
    return PARTITIONS[name].assign(LABELS, 100, **SHARDS, **values, generator=stream)


def skews(parts):
    """Of cliques of ten consecutive workers."""
    counts = samples_by_class(LABELS, parts, 10)
    return skew(counts.reshape(10, 10, 10).sum(1), np.full(10, 0.1))


def test_workers_have_the_parts_of_shards_in_another_order():
    parts, shards = drawn("cliques", label_clique=10), drawn("shards")
    assert sorted(map(tuple, parts)) == sorted(map(tuple, shards))
    assert not all(map(np.array_equal, parts, shards))


def test_each_clique_has_nearly_the_labels_of_all_data():
    """Where those of ten random workers are far off."""
    assert skews(drawn("shards")).mean() > 0.4
    assert skews(drawn("cliques", label_clique=10)).mean() < 0.1


def test_the_skew_of_a_clique_by_hand():
    """Two thirds and a third of two labels, and not a half each: 1/6 + 1/6."""
    assert skew(np.array([4, 2]), np.array([0.5, 0.5])) == 1 / 3


def test_swaps_never_make_it_worse_and_find_the_obvious():
    """Four workers of one label each: every clique of two gets both labels."""
    counts = np.array([[5, 0], [5, 0], [0, 5], [0, 5]])
    for seed in range(5):
        order = greedy_swap(counts, np.array([0.5, 0.5]), 2, np.random.default_rng(seed))
        assert sorted(order) == [0, 1, 2, 3]
        assert (counts[order].reshape(2, 2, 2).sum(1) == 5).all()
