"""The ring."""

from ngo.gossip.topology import Edges, topology


@topology("ring")
def ring(n: int) -> Edges:
    """A circle of workers: each has two neighbours (one, for n = 2)."""
    return [(i, i + 1) for i in range(n - 1)] + [(0, n - 1)] * (n > 2)
