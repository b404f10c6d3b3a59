"""Partition ``quantity``: shares of unequal sizes, each with labels as in the whole data set."""

import numpy as np

from ngo.data.partition import SMALLEST, Parts, check_range, partition, sorted_parts


@partition(
    "quantity",
    smallest_share=lambda m, n, beta, smallest: smallest,
    options=SMALLEST,
)
def quantity(
    labels: np.ndarray, n: int, *, beta: float, smallest: int, generator: np.random.Generator
) -> Parts:
    """Cut a random permutation of the samples into n shares (quantity skew, Li et al. 2022).

    Each worker has ``smallest`` samples, and the rest is divided in proportions drawn from
    Dir_n(β).
    """
    check_range("workers × smallest", n * smallest, len(labels), "samples")
    rest = len(labels) - n * smallest
    proportions = generator.dirichlet(np.full(n, beta))
    cuts = smallest * np.arange(1, n) + np.round(np.cumsum(proportions)[:-1] * rest).astype(int)
    return sorted_parts(np.split(generator.permutation(len(labels)), cuts))
