import networkx as nx
import numpy as np
import pytest
import torch
from own_modules import equal, metrics, quick, told

from ngo.gossip.topology import TOPOLOGIES
from ngo.training.fit_inputs import topology_of

RING = TOPOLOGIES["ring"].matrix(4).dense()


def ring(**topology):
    return quick(workers=4, **topology)


def test_a_matrix_edges_and_a_graph_are_the_ring():
    known = set(TOPOLOGIES)
    expected = ring(topology="ring")
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    graph = nx.cycle_graph(4)
    weighted = nx.Graph()
    weighted.add_weighted_edges_from([(i, j, 1 / 3) for i, j in edges])
    for given in (RING, RING.float(), RING.numpy(), edges, np.array(edges), graph, weighted):
        run = quick(workers=4, topology=given)
        assert run.spec.topology.startswith("own-")
        assert values(run).equals(values(expected))
    assert set(TOPOLOGIES) == known
    assert equal(ring(topology=graph), ring(topology=graph))


def test_a_directed_graph_goes_with_push_sum():
    run = ring(topology=nx.cycle_graph(4, create_using=nx.DiGraph), method="push_sum")
    assert run.metrics["messages"].iloc[-1] > 0


def values(run):
    """The metrics; the name of a graph depends on how its edges are written."""
    return metrics(run).drop(columns=["run", "topology"])


def test_other_names_are_sorted_and_in_the_result_and_the_log(caplog):
    graph = nx.path_graph(["a", "d", "b", "c"])
    run = ring(topology=graph)
    assert run.graph_nodes == ["a", "b", "c", "d"]
    assert values(run).equals(values(ring(topology=[(0, 3), (3, 1), (1, 2)])))
    note = "note: topology: the graph has nodes with names: worker 0 is 'a', 1 is 'b', 2 is 'c', 3"
    assert [text.startswith(note) for text in caplog.messages] == [True]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_weights_do_not_depend_on_the_order_of_the_nodes(kind):
    edges = [(0, 1, 0.25), (1, 2, 0.5), (2, 0, 0.125)]
    graph = nx.empty_graph([2, 0, 1], create_using=kind)
    graph.add_weighted_edges_from(edges)
    entry, _, _ = topology_of(graph, None)
    W = entry.matrix(3).dense()
    for i, j, w in edges:
        assert W[j, i] == w
        assert W[i, j] == (0 if kind is nx.DiGraph else w)


def weighted(*weights):
    graph = nx.path_graph(len(weights) + 1)
    nx.set_edge_attributes(graph, dict(zip(graph.edges, weights, strict=True)), "weight")
    return graph


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (
            RING * 2,
            "has columns that do not sum to 1; networkx.from_numpy_array(A) is",
        ),
        (RING[:2], "has shape [2, 4], and not [2, 2]"),
        (RING * torch.nan, "has entries that are not finite numbers of 0"),
        (-RING, "has entries that are not finite numbers of 0 or more"),
        (RING.roll(1, 0), "is not symmetric; a directed topology is declared"),
        (torch.eye(3), "workers: 4 is not the number of workers in topology, 3"),
        (
            nx.Graph([(0, 1), (2, 3)]),
            "topology: the given graph does not connect the 4 workers: there are no paths "
            "both ways between worker 0 and worker 2; join its parts or, if that is meant,",
        ),
        ([(0, 1), (2, 3)], "the given graph does not connect the 4 workers"),
        ([(0, 1), (1, 2), (2, 9)], "has an edge (2, 9) on 4 workers"),
        ("rong", "Did you mean 'ring'?"),
        (nx.Graph(), "workers: "),
        (weighted(0.5, None, 0.5), "if any edge has one, every edge must: a number, 0 or more"),
        (weighted(0.5, "x", 0.5), "if any edge has one, every edge must: a number, 0 or more"),
        (nx.path_graph([0, 1, "1", 2]), "topology: the graph has two nodes of the name '1'"),
        (object(), "a object is no graph or matrix; for example topology='ring', [(0, 1), (1, 2)]"),
    ],
)
def test_other_graphs_are_told_in_a_line(given, part):
    assert part in told(workers=4, topology=given)
