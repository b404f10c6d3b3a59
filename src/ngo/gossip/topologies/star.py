"""The star."""

from ngo.gossip.topology import Edges, topology


@topology("star")
def star(n: int) -> Edges:
    """Worker 0 is the only neighbour of all others."""
    return [(0, i) for i in range(1, n)]
