"""Partition ``equal``: the same number of samples per worker for any number of workers."""

import numpy as np

from ngo.data.partition import Parts, check_range, partition, sorted_parts


@partition(
    "equal",
    smallest_share=lambda m, n, samples_per_worker: samples_per_worker,
    owned=lambda m, n, samples_per_worker: n * samples_per_worker,
)
def equal(
    labels: np.ndarray, n: int, *, samples_per_worker: int, generator: np.random.Generator
) -> Parts:
    """Give each worker ``samples_per_worker`` random samples (Section 5.5).

    The other samples are unused.
    """
    used = n * samples_per_worker
    check_range("workers × samples_per_worker", used, len(labels), "samples")
    return sorted_parts(np.split(generator.permutation(len(labels))[:used], n))
