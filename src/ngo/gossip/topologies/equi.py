"""EquiTopo (Song et al. 2022): random shifts on a circle, whose rate does not depend on n."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.fields import at_least
from ngo.common.seeding import numpy_stream
from ngo.common.settings import whole
from ngo.gossip.topology import topology

if TYPE_CHECKING:
    import torch

SHIFTS = {"shifts": whole("random shifts, the number of neighbours", 4, at_least(1))}


@topology("equi_static", directed=True, weighted=True, settings=SHIFTS)
def equi_static(n: int, shifts: int, seed: int) -> list[list[float]]:
    """D-EquiStatic: the mean of ``shifts`` matrices A(u), each u drawn from 1 … n − 1, once.

    A(u) = (n − 1)/n × (the shift by u) + 1/n × (the identity).
    """
    drawn = numpy_stream(seed, "graph").integers(1, n, size=shifts).tolist()
    return _mean_of_shifts(n, drawn)


@topology("equi_dynamic", weighted=True)
def equi_dynamic(n: int, generator: torch.Generator) -> list[list[float]]:
    """U-EquiDyn: one random shift in each step, there and back, and its mean with the identity."""
    import torch

    u = int(torch.randint(1, n, (), generator=generator))
    there, back = (_mean_of_shifts(n, [shift]) for shift in (u, n - u))
    return [
        [((i == j) + (a + b) / 2) / 2 for j, (a, b) in enumerate(zip(*rows, strict=True))]
        for i, rows in enumerate(zip(there, back, strict=True))
    ]


def _mean_of_shifts(n: int, drawn: list[int]) -> list[list[float]]:
    W = [[(i == j) / n for j in range(n)] for i in range(n)]
    for u in drawn:
        for i in range(n):
            W[i][(i - u) % n] += (n - 1) / n / len(drawn)
    return W
