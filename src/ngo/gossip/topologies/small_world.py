"""A small world (Watts and Strogatz 1998), drawn once for the whole run."""

from ngo.common.fields import at_least, number, whole, within
from ngo.common.registry import UserError
from ngo.gossip.drawn_graph import connected
from ngo.gossip.topology import Edges, topology

OPTIONS = {
    "near": whole("neighbours of each worker on the ring before rewiring, even", 4, at_least(2)),
    "rewired": number("probability that an edge is rewired", 0.2, within(0, 1)),
}


def check(n: int, near: int) -> None:
    """A UserError unless each of n workers can have ``near`` neighbours, half on each side."""
    if near % 2 or near >= n:
        raise UserError(
            f"near: {near} is not possible for {n} workers; it must be even and below {n}."
        )


@topology("small_world", options=OPTIONS, check=check)
def small_world(n: int, near: int, rewired: float, seed: int) -> Edges:
    """A small world (Watts and Strogatz 1998): edges to near workers on a ring, some rewired.

    Before rewiring, each worker has ``near`` neighbours. The graph is connected, and drawn once for
    the run.
    """
    from networkx import watts_strogatz_graph

    return connected("small_world", seed, lambda draw: watts_strogatz_graph(n, near, rewired, draw))
