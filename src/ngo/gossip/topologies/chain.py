"""The chain, also called a path or a line."""

from ngo.gossip.topology import Edges, topology


@topology("chain")
def chain(n: int) -> Edges:
    """A line of workers: the ring without the edge between its ends."""
    return [(i, i + 1) for i in range(n - 1)]
