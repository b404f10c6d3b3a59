"""The torus: a grid whose opposite borders are joined."""

from math import isqrt

from ngo.common.registry import UserError
from ngo.gossip.topology import Edges, topology


def rows(n: int) -> int:
    """The largest divisor of n up to its root; a UserError for a prime n."""
    found = next(r for r in range(isqrt(n), 0, -1) if n % r == 0)
    if found == 1:
        raise UserError(
            f"topology: 'torus' has rows and columns, so workers can't be {n}; "
            f"{max(n + 1, 4)} is possible."
        )
    return found


@topology("torus", check=rows)
def torus(n: int) -> Edges:
    """A grid whose opposite borders are joined: four neighbours each, from three rows on.

    With two rows a worker has three neighbours, and with n = 4 two. Rows × columns = n, as close to
    a square as possible. Worker i is in row i // columns.
    """
    columns = n // rows(n)
    right = [(i, i - i % columns + (i + 1) % columns) for i in range(n)]
    return right + [(i, (i + columns) % n) for i in range(n)]
