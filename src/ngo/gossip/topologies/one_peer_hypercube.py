"""The one-peer hypercube (Shi et al. 2016): in each step, pairs of workers average."""

from ngo.gossip.topologies.hypercube import dimension
from ngo.gossip.topology import Edges, topology


@topology(
    "one_peer_hypercube",
    period=lambda n: dimension("one_peer_hypercube", n),
    exact=True,
    matching=True,
    check=lambda n: dimension("one_peer_hypercube", n),
)
def one_peer_hypercube(n: int, t: int) -> Edges:
    """The one-peer hypercube (Shi et al. 2016): the hypercube's edges as matchings, in turn.

    For n = 2^k, the pairs whose numbers differ in binary digit t mod k.
    """
    digit = 1 << t % dimension("one_peer_hypercube", n)
    return [(i, i | digit) for i in range(n) if not i & digit]
