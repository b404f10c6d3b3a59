"""The exponential graph (Ying et al. 2021), and the same without directions."""

from ngo.gossip.topology import Edges, topology


def digits(n: int) -> int:
    """⌈log₂ n⌉: how many distances 1, 2, 4, … are below n ≥ 2."""
    return (n - 1).bit_length()


@topology("directed_exponential", directed=True)
def directed_exponential(n: int) -> Edges:
    """Worker i sends to those 1, 2, 4, … places further on a circle: ⌈log₂ n⌉ of them.

    All weights are 1/(⌈log₂ n⌉ + 1). The gap of even n is 2/(⌈log₂ n⌉ + 1).
    """
    return [(i, (i + 2**k) % n) for k in range(digits(n)) for i in range(n)]


@topology("exponential")
def exponential(n: int) -> Edges:
    """Neighbours are 1, 2, 4, … places apart on a circle: at most 2 ⌈log₂ n⌉ of them."""
    return [(i, (i + 2**k) % n) for k in range(digits(n)) for i in range(n)]
