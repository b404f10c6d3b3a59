"""The hypercube."""

from ngo.common.registry import UserError
from ngo.gossip.topology import Edges, topology


def dimension(name: str, n: int) -> int:
    """log₂ n; a UserError if it is not a whole number."""
    if n & (n - 1):
        below = 1 << (n.bit_length() - 1)
        raise UserError(
            f"topology: {name!r} needs a power of 2, so workers can't be {n}; {below} and "
            f"{2 * below} are possible."
        )
    return n.bit_length() - 1


@topology("hypercube", check=lambda n: dimension("hypercube", n))
def hypercube(n: int) -> Edges:
    """Workers whose numbers differ in one binary digit are neighbours; n is a power of 2."""
    return [(i, i ^ 1 << k) for k in range(dimension("hypercube", n)) for i in range(n)]
