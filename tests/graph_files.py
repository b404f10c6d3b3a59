"""Graph files, and what is read from them."""

import json

import networkx as nx

from ngo.gossip.topologies.graph_file import file_nodes
from ngo.gossip.topology import TOPOLOGIES

# A path on the workers 0 to 3, whose nodes have other names in the files, and another order.
NAMES = ["a", "b", "c", "d"]
PATH = nx.path_graph(4)


def written(folder, ending, graph):
    """The path of a file with ``graph`` on the nodes ``NAMES``, which it names in another order."""
    named = nx.empty_graph(NAMES[::-1], create_using=type(graph))
    named.add_edges_from((NAMES[i], NAMES[j], data) for i, j, data in graph.edges.data())
    path = folder / f"graph{ending}"
    if ending == ".json":
        path.write_text(json.dumps(nx.node_link_data(named)))
    else:
        getattr(nx, f"write_{ending[1:]}")(named, path)
    return str(path)


def matrix(path, n=4, directed=False):
    entry = TOPOLOGIES["directed_graph_file" if directed else "graph_file"]
    entry.check_values(n, graph=path)
    return entry.matrix(n, graph=path).dense()


def names_in(n, path):
    return file_nodes(["graph_file"], n, path)["names"]


def weighted(*edges, directed=False):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_weighted_edges_from(edges)
    return graph
