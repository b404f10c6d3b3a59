import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partition_cases import LABELS, assert_disjoint, stream
from rates import check_mean

from ngo.common.registry import UserError
from ngo.data.partitions.dirichlet import dirichlet


@settings(deadline=None)
@given(n=st.integers(1, 20), beta=st.floats(0.05, 50), seed=st.integers(0, 100))
def test_dirichlet_is_exhaustive(n, beta, seed):
    parts = dirichlet(LABELS, n, beta=beta, generator=stream(seed))
    assert_disjoint(parts, 600)
    assert sum(map(len, parts)) == 600


@pytest.mark.parametrize("beta", [0, -1.0])
def test_a_concentration_that_is_not_positive(beta):
    with pytest.raises(UserError, match=f"beta: {beta} is out of range; it must be above 0"):
        dirichlet(LABELS, 5, beta=beta, generator=stream())


def test_shares_have_the_moments_of_their_concentration():
    """Σ s² of the shares of Dir_n(β) has the mean (β + 1) / (n β + 1): β to 3 %."""
    n, m, beta, labels, generator = 300, 10_000, 0.5, np.zeros(10_000, int), stream()

    def moment(beta):
        return (beta + 1) / (n * beta + 1)

    draws = [dirichlet(labels, n, beta=beta, generator=generator) for _ in range(1000)]
    sizes = np.array([[len(part) for part in parts] for parts in draws])
    found = np.square(sizes / m).sum(1)
    check_mean(found, moment(beta), sees=1 - moment(1.03 * beta) / moment(beta))
