"""The complete graph."""

from itertools import combinations

from ngo.gossip.topology import Edges, topology


@topology("complete", exact=True)
def complete(n: int) -> Edges:
    """Every pair of workers is connected."""
    return list(combinations(range(n), 2))
