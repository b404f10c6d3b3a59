import numpy as np
import pytest

from ngo.common.registry import UserError
from ngo.data.heterogeneity import hellinger_pairwise, hellinger_to_global, label_entropy


def test_equal_distributions_have_distance_0_and_the_entropy_of_all_classes():
    counts = np.outer([1, 2, 5], np.full(7, 3))
    assert hellinger_to_global(counts) == pytest.approx(0, abs=1e-7)
    assert hellinger_pairwise(counts) == pytest.approx(0, abs=1e-7)
    assert label_entropy(counts) == pytest.approx(np.log(7))


def test_one_class_for_each_worker():
    """Σ_k √(p_k q_k) is √(1/C) against the global distribution, and 0 between two workers."""
    counts = 9 * np.eye(10, dtype=int)
    assert hellinger_to_global(counts) == pytest.approx(np.sqrt(1 - 1 / np.sqrt(10)))
    assert hellinger_pairwise(counts) == 1
    assert label_entropy(counts) == 0


def test_the_distances_are_those_of_the_definition():
    counts = np.random.default_rng(0).integers(0, 30, (5, 4))
    p = counts / counts.sum(1, keepdims=True)
    q = counts.sum(0) / counts.sum()

    def distance(a, b):
        return np.sqrt(0.5 * sum((np.sqrt(x) - np.sqrt(y)) ** 2 for x, y in zip(a, b, strict=True)))

    to_global = [distance(row, q) for row in p]
    pairs = [distance(p[i], p[j]) for i in range(5) for j in range(i)]
    entropies = [-sum(x * np.log(x) for x in row if x) for row in p]
    assert hellinger_to_global(counts) == pytest.approx(np.mean(to_global), abs=1e-12)
    assert hellinger_pairwise(counts) == pytest.approx(np.mean(pairs), abs=1e-12)
    assert label_entropy(counts) == pytest.approx(np.mean(entropies), abs=1e-12)


def test_workers_without_samples_are_left_out():
    counts = np.array([[4, 0], [0, 4]])
    more = np.vstack([counts, np.zeros((2, 2), int)])
    for measure in (hellinger_to_global, hellinger_pairwise, label_entropy):
        assert measure(more) == measure(counts)
    assert hellinger_pairwise(counts[:1]) == 0
    with pytest.raises(UserError, match="partition: no worker has samples"):
        label_entropy(np.zeros((2, 3)))
