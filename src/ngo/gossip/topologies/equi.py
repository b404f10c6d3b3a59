"""EquiTopo (Song et al. 2022): random shifts on a circle, whose rate does not depend on n.

A(u) moves a share (n − 1)/n of each worker's state u places further, and leaves 1/n of it. The
mean of A(1) … A(n − 1) is the exact average. The names are those of the paper: directed (D) and
undirected (U) graphs that are static or, with one peer (O), dynamic.
"""

from __future__ import annotations

from math import gcd

from ngo.common.fields import at_least, whole
from ngo.common.lazy import torch
from ngo.common.seeding import numpy_stream
from ngo.gossip.mixing_matrix import MixingMatrix, undirected_weights
from ngo.gossip.topology import topology

SHIFTS = {"shifts": whole("random shifts M; a worker sends to this many at most", 4, at_least(1))}

#: The share η of A in a step of the dynamic graphs.
ETA = 0.5


@topology("d_equi_static", directed=True, weighted=True, options=SHIFTS)
def d_equi_static(n: int, shifts: int, seed: int) -> MixingMatrix:
    """D-EquiStatic (Song et al. 2022): edges from i to i + u on a circle, for a few random u.

    The matrix is the mean of A(u) over ``shifts`` numbers u, which are drawn from 1 … n − 1 once
    for the run, and again if the graph is not connected.
    """
    return mean_shift(n, _drawn(n, shifts, seed))


@topology("u_equi_static", weighted=True, options=SHIFTS)
def u_equi_static(n: int, shifts: int, seed: int) -> MixingMatrix:
    """U-EquiStatic (Song et al. 2022): edges between i and i + u on a circle, for a few random u.

    The matrix is the mean of the matrix of ``d_equi_static`` and its transpose. A worker has up to
    2 × ``shifts`` neighbours.
    """
    drawn = _drawn(n, shifts, seed)
    return mean_shift(n, [*drawn, *(n - u for u in drawn)])


@topology("od_equi_dyn", directed=True, weighted=True)
def od_equi_dyn(n: int, generator: torch.Generator) -> MixingMatrix:
    """OD-EquiDyn (Song et al. 2022): edges from i to i + u on a circle, with a new u in each step.

    The matrix is (1 − η) I + η A(u), η = 1/2.
    """
    return mean_shift(n, [int(torch.randint(1, n, (), generator=generator))], ETA)


@topology("ou_equi_dyn", weighted=True, matching=True)
def ou_equi_dyn(n: int, generator: torch.Generator) -> MixingMatrix:
    """OU-EquiDyn (Song et al. 2022): pairs (i, i + u) on a circle, with a new u in each step.

    The matrix is (1 − η) I + η A, where A exchanges the states of pairs as A(u) moves them. In turn
    from a random j on, worker j and j + u become a pair if neither has a partner yet.
    """
    u = int(torch.randint(1, n, (), generator=generator))
    start = int(torch.randint(n, (), generator=generator))
    free, firsts = [True] * n, []
    for j in (*range(start, n), *range(start)):
        i = (j + u) % n
        if free[i] and free[j]:
            free[i] = free[j] = False
            firsts.append(j)
    j = torch.tensor(firsts)
    return undirected_weights(n, j, (j + u) % n, ETA * (n - 1) / n)


def _drawn(n: int, shifts: int, seed: int) -> list[int]:
    stream, drawn = numpy_stream(seed, "graph"), [n]
    while gcd(n, *drawn) > 1:  # not connected
        drawn = stream.integers(1, n, size=shifts).tolist()
    return drawn


def mean_shift(n: int, drawn: list[int], share: float = 1.0) -> MixingMatrix:
    """(1 − ``share``) I + ``share`` · the mean of A(u) over the ``drawn`` u."""
    counts = torch.bincount(torch.tensor(drawn), minlength=n)
    shifts, workers = counts.nonzero().flatten(), torch.arange(n)
    receivers = (workers[:, None] + shifts) % n
    weights = share * (n - 1) / n * counts[shifts].double() / len(drawn)
    diagonal = torch.full((n,), 1 - share * (n - 1) / n, dtype=torch.float64)
    senders = workers.repeat_interleave(len(shifts))
    return MixingMatrix(n, receivers.flatten(), senders, weights.repeat(n), diagonal)
