"""The exponential graph (Ying et al. 2021), and the same without directions."""

from ngo.gossip.topology import Edges, topology


def digits(n: int) -> int:
    """⌈log₂ n⌉: how many distances 1, 2, 4, … are below n ≥ 2."""
    return (n - 1).bit_length()


@topology("directed_exponential", directed=True)
def directed_exponential(n: int) -> Edges:
    """The exponential graph (Ying et al. 2021): edges from i to i + 1, i + 2, i + 4, … on a circle.

    Each worker sends to ⌈log₂ n⌉ others. All weights are 1/(⌈log₂ n⌉ + 1). The gap of even n is
    2/(⌈log₂ n⌉ + 1).
    """
    return [(i, (i + 2**k) % n) for k in range(digits(n)) for i in range(n)]


@topology("exponential")
def exponential(n: int) -> Edges:
    """The exponential graph without directions: edges between i and i + 1, i + 2, i + 4, ….

    Workers are on a circle, and each has 2 ⌈log₂ n⌉ neighbours at most.
    """
    return [(i, (i + 2**k) % n) for k in range(digits(n)) for i in range(n)]
