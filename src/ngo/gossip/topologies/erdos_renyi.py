"""An Erdős–Rényi graph, drawn once for the whole run."""

from ngo.gossip.drawn_graph import connected
from ngo.gossip.topology import Edges, topology


@topology("erdos_renyi")
def erdos_renyi(n: int, u: float, seed: int) -> Edges:
    """A connected Erdős–Rényi graph G(n, ``u``), drawn once for the run."""
    from networkx import gnp_random_graph

    return connected("erdos_renyi", seed, lambda draw: gnp_random_graph(n, u, seed=draw))
