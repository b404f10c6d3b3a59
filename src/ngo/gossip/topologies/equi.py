"""EquiTopo (Song et al. 2022): random shifts on a circle, whose rate does not depend on n.

A(u) moves a share (n − 1)/n of each worker's state u places further, and leaves 1/n of it. The
mean of A(1) … A(n − 1) is the exact average. The names are those of the paper: directed (D) and
undirected (U) graphs that are static or, with one peer (O), dynamic.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from ngo.common.fields import at_least, whole
from ngo.common.seeding import numpy_stream
from ngo.gossip.topology import topology

if TYPE_CHECKING:
    import torch

SHIFTS = {"shifts": whole("random shifts M; a worker sends to this many at most", 4, at_least(1))}

#: The share η of A in a step of the dynamic graphs.
ETA = 0.5


@topology("d_equi_static", directed=True, weighted=True, options=SHIFTS)
def d_equi_static(n: int, shifts: int, seed: int) -> torch.Tensor:
    """D-EquiStatic (Song et al. 2022): edges from i to i + u on a circle, for a few random u.

    The matrix is the mean of A(u) over ``shifts`` numbers u, which are drawn from 1 … n − 1 once
    for the run, and again if the graph is not connected.
    """
    return _drawn(n, shifts, seed)


@topology("u_equi_static", weighted=True, options=SHIFTS)
def u_equi_static(n: int, shifts: int, seed: int) -> torch.Tensor:
    """U-EquiStatic (Song et al. 2022): edges between i and i + u on a circle, for a few random u.

    The matrix is the mean of the matrix of ``d_equi_static`` and its transpose. A worker has up to
    2 × ``shifts`` neighbours.
    """
    W = _drawn(n, shifts, seed)
    return (W + W.T) / 2


@topology("od_equi_dyn", directed=True, weighted=True)
def od_equi_dyn(n: int, generator: torch.Generator) -> torch.Tensor:
    """OD-EquiDyn (Song et al. 2022): edges from i to i + u on a circle, with a new u in each step.

    The matrix is (1 − η) I + η A(u), η = 1/2.
    """
    import torch

    u = int(torch.randint(1, n, (), generator=generator))
    return (1 - ETA) * torch.eye(n, dtype=torch.float64) + ETA * shift(n, u)


@topology("ou_equi_dyn", weighted=True, matching=True)
def ou_equi_dyn(n: int, generator: torch.Generator) -> torch.Tensor:
    """OU-EquiDyn (Song et al. 2022): pairs (i, i + u) on a circle, with a new u in each step.

    The matrix is (1 − η) I + η A, where A exchanges the states of pairs as A(u) moves them. In turn
    from a random j on, worker j and j + u become a pair if neither has a partner yet.
    """
    import torch

    u = int(torch.randint(1, n, (), generator=generator))
    start = int(torch.randint(n, (), generator=generator))
    W, free = torch.eye(n, dtype=torch.float64), set(range(n))
    for j in ((start + k) % n for k in range(n)):
        i = (j + u) % n
        if {i, j} <= free:
            free -= {i, j}
            W[i, j] = W[j, i] = ETA * (n - 1) / n
            W[i, i] = W[j, j] = 1 - ETA * (n - 1) / n
    return W


def _drawn(n: int, shifts: int, seed: int) -> torch.Tensor:
    import torch

    stream, drawn = numpy_stream(seed, "graph"), [n]
    while gcd(n, *drawn) > 1:  # not connected
        drawn = stream.integers(1, n, size=shifts).tolist()
    return torch.stack([shift(n, u) for u in drawn]).mean(0)


def shift(n: int, u: int) -> torch.Tensor:
    """A(u): worker i receives from i − u."""
    import torch

    identity = torch.eye(n, dtype=torch.float64)
    return identity / n + identity.roll(u, 0) * (n - 1) / n
