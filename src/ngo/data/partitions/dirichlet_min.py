"""Partition ``dirichlet_min``: ``dirichlet`` with a smallest share."""

import numpy as np

from ngo.common.registry import UserError
from ngo.data.partition import SMALLEST, Parts, check_range, partition
from ngo.data.partitions import dirichlet

ATTEMPTS = 1000


@partition(
    "dirichlet_min",
    by_label=True,
    smallest_share=lambda m, n, beta, smallest: smallest,
    options=SMALLEST,
)
def dirichlet_min(
    labels: np.ndarray, n: int, *, beta: float, smallest: int, generator: np.random.Generator
) -> Parts:
    """Draw ``dirichlet`` again until each worker has ``smallest`` samples (Li et al. 2022).

    Where the first draw has them, the partition is that of ``dirichlet``. A UserError if none of
    1,000 draws has.
    """
    check_range("workers × smallest", n * smallest, len(labels), "samples")
    for _ in range(ATTEMPTS):
        parts = dirichlet.dirichlet(labels, n, beta=beta, generator=generator)
        if min(len(part) for part in parts) >= smallest:
            return parts
    raise UserError(
        f"smallest: {smallest} samples for each of {n} workers are in none of {ATTEMPTS:,} draws "
        f"with beta {beta:g}; use a smaller value, fewer workers or a larger beta."
    )
