"""A random regular graph, drawn once for the whole run."""

from ngo.common.fields import at_least, whole
from ngo.common.registry import UserError
from ngo.gossip.drawn_graph import connected
from ngo.gossip.topology import Edges, topology

OPTIONS = {"degree": whole("neighbours of each worker", 4, at_least(1))}


def check(n: int, degree: int) -> None:
    """A UserError unless n workers have a connected graph of this degree."""
    if degree >= n or n * degree % 2 or (degree == 1 and n > 2):
        raise UserError(
            f"degree: {degree} is not possible for {n} workers; it must be below {n}, 2 or more "
            "for more than 2 workers, and even for an odd number of them."
        )


@topology("random_regular", options=OPTIONS, check=check)
def random_regular(n: int, degree: int, seed: int) -> Edges:
    """A connected random graph of the given ``degree``, drawn once for the run."""
    from networkx import random_regular_graph

    return connected("random_regular", seed, lambda draw: random_regular_graph(degree, n, draw))
