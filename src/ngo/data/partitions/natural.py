"""Partition ``natural``: samples stay with their owners, as they were collected."""

import numpy as np

from ngo.common.registry import UserError
from ngo.data.partition import Parts, check_range, partition


@partition("natural")
def natural(owners: np.ndarray, n: int, *, generator: np.random.Generator) -> Parts:
    """Give each worker the samples of whole owners; ``owners`` is int64 ``[m, 1]``.

    With as many owners as workers, worker i gets the samples of the i-th owner. More owners are
    dealt out at random, and the workers' numbers of owners differ by one at most.
    """
    if np.ndim(owners) != 2:
        raise UserError("partition: 'natural' needs the owners of the samples, [m, 1], not labels.")
    present, owner = np.unique(owners[:, 0], return_inverse=True)
    check_range("workers", n, len(present), "owners")
    order = np.arange(n) if len(present) == n else generator.permutation(len(present))
    return [np.flatnonzero(np.isin(owner, group)) for group in np.array_split(order, n)]
