"""The torus: a grid whose opposite borders are joined."""

from math import isqrt

from ngo.common.registry import UserError
from ngo.gossip.topology import Edges, topology


@topology("torus")
def torus(n: int) -> Edges:
    """Rows × columns = n, as near to a square as possible; four neighbours, or three for two rows.

    Worker i is in row i // columns.
    """
    rows = next(r for r in range(isqrt(n), 0, -1) if n % r == 0)
    if rows == 1:
        raise UserError(
            f"topology: 'torus' has rows and columns, so workers can't be {n}; "
            f"{max(n + 1, 4)} is possible."
        )
    columns = n // rows
    right = [(i, i - i % columns + (i + 1) % columns) for i in range(n)]
    return right + [(i, (i + columns) % n) for i in range(n)]
