"""The ring in one direction."""

from ngo.gossip.topology import Edges, topology


@topology("directed_ring", directed=True)
def directed_ring(n: int) -> Edges:
    """Worker i sends to i + 1, and the last one to worker 0."""
    return [(i, (i + 1) % n) for i in range(n)]
