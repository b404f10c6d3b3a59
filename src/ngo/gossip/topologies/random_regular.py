"""A random regular graph, drawn once for the whole run."""

from ngo.common.fields import at_least
from ngo.common.registry import UserError
from ngo.common.settings import whole
from ngo.gossip.drawn_graph import connected
from ngo.gossip.topology import Edges, topology

SETTINGS = {"degree": whole("neighbours of each worker", 4, at_least(1))}


@topology("random_regular", settings=SETTINGS)
def random_regular(n: int, degree: int, seed: int) -> Edges:
    """A connected graph in which each worker has ``degree`` neighbours."""
    from networkx import random_regular_graph

    if degree >= n or n * degree % 2:
        raise UserError(
            f"degree: {degree} is not possible for {n} workers; it must be below {n}, and "
            "workers × degree even."
        )
    return connected("random_regular", seed, lambda draw: random_regular_graph(degree, n, draw))
