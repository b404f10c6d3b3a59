"""Which workers each process of a distributed run holds."""

from __future__ import annotations

from itertools import pairwise


def shares(workers: int, processes: int) -> list[range]:
    """The workers of each process: consecutive numbers, as evenly as possible."""
    return [
        range(*ends) for ends in pairwise(workers * k // processes for k in range(processes + 1))
    ]
