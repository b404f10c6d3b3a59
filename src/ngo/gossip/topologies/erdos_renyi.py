"""An Erdős–Rényi graph, drawn once for the whole run."""

from ngo.gossip.drawn_graph import connected
from ngo.gossip.topology import DRAWN_IN_FULL, Edges, topology


@topology("erdos_renyi", density=lambda n, u: u)
def erdos_renyi(n: int, u: float, seed: int) -> Edges:
    """A connected Erdős–Rényi graph G(n, ``u``), drawn once for the run."""
    from networkx import fast_gnp_random_graph, gnp_random_graph

    # The second has a draw for each pair, the first for each edge (Batagelj and Brandes 2005).
    graph = fast_gnp_random_graph if n > DRAWN_IN_FULL else gnp_random_graph
    return connected("erdos_renyi", seed, lambda draw: graph(n, u, seed=draw))
