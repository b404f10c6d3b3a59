"""The exponential graph (Ying et al. 2021), without directions."""

from ngo.gossip.topology import Edges, topology


@topology("exponential")
def exponential(n: int) -> Edges:
    """Neighbours are 1, 2, 4, … places apart on a circle: at most 2 ⌈log₂ n⌉ of them."""
    return [(i, (i + 2**k) % n) for k in range((n - 1).bit_length()) for i in range(n)]
