"""Partition ``iid``: all samples, at random, split evenly."""

import numpy as np

from ngo.data.partition import Parts, check_range, partition, sorted_parts


@partition("iid", smallest_share=lambda m, n: m // n)
def iid(labels: np.ndarray, n: int, *, generator: np.random.Generator) -> Parts:
    """Split a random permutation of the samples; the workers' shares differ by one at most."""
    check_range("workers", n, len(labels), "samples")
    return sorted_parts(np.array_split(generator.permutation(len(labels)), n))
