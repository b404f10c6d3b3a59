"""Cliques on a ring, a simple form of D-Cliques (Bellet, Kermarrec and Lavoie 2022)."""

from itertools import combinations
from math import isqrt

import ngo


@ngo.topology("cliques")
def cliques(n):
    """All pairs in groups of about √n workers, and an edge from each group to the next one."""
    size = isqrt(n)
    groups = [range(first, min(first + size, n)) for first in range(0, n, size)]
    inside = [pair for group in groups for pair in combinations(group, 2)]
    return inside + [(group[-1], (group[-1] + 1) % n) for group in groups]
