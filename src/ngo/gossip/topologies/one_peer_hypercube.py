"""The one-peer hypercube (Shi et al. 2016): in each step, pairs of workers average."""

from ngo.gossip.topologies.hypercube import dimension
from ngo.gossip.topology import Edges, topology


@topology("one_peer_hypercube")
def one_peer_hypercube(n: int, t: int) -> Edges:
    """N = 2^k; in step t, those pairs that differ in binary digit t mod k. k steps give the mean."""
    digit = 1 << t % dimension("one_peer_hypercube", n)
    return [(i, i | digit) for i in range(n) if not i & digit]
