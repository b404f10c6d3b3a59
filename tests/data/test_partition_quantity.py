import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partition_cases import LABELS, assert_disjoint, stream
from rates import check_mean

from ngo.common.registry import UserError
from ngo.data.heterogeneity import hellinger_to_global
from ngo.data.partition import samples_by_class
from ngo.data.partitions.quantity import quantity


@given(n=st.integers(1, 20), beta=st.floats(0.01, 50), seed=st.integers(0, 100))
def test_quantity_is_exhaustive_and_no_share_is_smaller_than_the_smallest(n, beta, seed):
    parts = quantity(LABELS, n, beta=beta, smallest=5, generator=stream(seed))
    assert_disjoint(parts, 600)
    assert sum(map(len, parts)) == 600
    assert min(map(len, parts)) >= 5


def test_sizes_are_skewed_and_labels_are_not():
    def measured(beta):
        parts = quantity(LABELS, 5, beta=beta, smallest=40, generator=stream())
        return max(map(len, parts)), hellinger_to_global(samples_by_class(LABELS, parts, 10))

    most, distance = measured(0.1)
    even, _ = measured(1e6)
    assert most > 300
    assert even == pytest.approx(120, abs=2)
    assert distance < 0.2  # 40 samples of ten classes: the distance is that of the draw


def test_the_proportions_are_drawn_from_the_dirichlet_distribution():
    """Σ s² of the shares of Dir_n(β) has the mean (β + 1) / (n β + 1): β to 3 %."""
    n, m, beta, smallest = 300, 10_000, 0.5, 2
    generator = stream()

    def moment(beta):
        return (beta + 1) / (n * beta + 1)

    drawn = {"beta": beta, "smallest": smallest, "generator": generator}
    draws = [quantity(np.zeros(m), n, **drawn) for _ in range(1000)]
    sizes = np.array([[len(part) - smallest for part in parts] for parts in draws])
    found = np.square(sizes / (m - n * smallest)).sum(1)
    check_mean(found, moment(beta), sees=1 - moment(1.03 * beta) / moment(beta))


def test_more_than_all_samples():
    with pytest.raises(UserError, match="workers × smallest: 606 is out of range"):
        quantity(LABELS, 6, beta=1.0, smallest=101, generator=stream())
