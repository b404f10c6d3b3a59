"""Partition ``dirichlet``: each class in random proportions (supplement C.1)."""

import numpy as np

from ngo.common.registry import UserError
from ngo.data.partition import Parts, check_range, partition, sorted_parts


@partition("dirichlet", by_label=True)
def dirichlet(labels: np.ndarray, n: int, *, beta: float, generator: np.random.Generator) -> Parts:
    """Split each class among the workers in proportions drawn from Dir_n(β).

    All samples are used. With a small β a class goes to few workers, and a worker may get no
    samples.
    """
    if not beta > 0:
        raise UserError(f"beta: {beta!r} is out of range; it must be above 0")
    check_range("workers", n, len(labels), "samples")
    labels = np.asarray(labels)
    pieces: list[list[np.ndarray]] = [[] for _ in range(n)]
    for label in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == label))
        shares = generator.dirichlet(np.full(n, beta))
        cuts = np.round(np.cumsum(shares)[:-1] * len(members)).astype(int)
        for worker, piece in zip(pieces, np.split(members, cuts), strict=True):
            worker.append(piece)
    return sorted_parts([np.concatenate(worker) for worker in pieces])
