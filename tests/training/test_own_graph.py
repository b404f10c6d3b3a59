import networkx as nx
import numpy as np
import pytest
import torch
from own_modules import equal, metrics, quick, told

from ngo.gossip.topology import TOPOLOGIES

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
        same = metrics(run).drop(columns=["run", "topology"])
        assert same.equals(metrics(expected).drop(columns=["run", "topology"]))
    assert set(TOPOLOGIES) == known
    assert equal(ring(topology=graph), ring(topology=graph))


def test_a_directed_graph_goes_with_push_sum():
    run = ring(topology=nx.cycle_graph(4, create_using=nx.DiGraph), method="push_sum")
    assert run.metrics["messages"].iloc[-1] > 0


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (RING * 2, "is not doubly stochastic: row 0 sums to 2, not 1; for an adjacency matrix"),
        (RING[:2], "has shape [2, 4]; it must be [n, n]"),
        (RING * torch.nan, "has entries that are not finite"),
        (-RING, "has entries below 0"),
        (
            RING.roll(1, 0) + torch.eye(4) * 0.1,
            "is not symmetric; for a directed graph give a",
        ),
        (torch.eye(3), "workers: 4 is not the number of workers in topology, 3"),
        (
            nx.Graph([(0, 1), (2, 3)]),
            "topology: the given graph does not connect the 4 workers: there is no path from "
            "worker 0 to worker 2; join its parts or, if that is meant, register it with @ngo.topo",
        ),
        ([(0, 1), (2, 3)], "the given graph does not connect the 4 workers"),
        ([(0, 1), (1, 2), (2, 9)], "has an edge (2, 9) on 4 workers"),
        ("rong", "for example topology='ring', [(0, 1), (1, 2)], networkx.cycle_graph(10) or a"),
        ("rong", "Did you mean 'ring'?"),
        (nx.cycle_graph, "is a function; register it with @ngo.topology('name')"),
        (object(), "a object is no graph or matrix; for example"),
    ],
)
def test_other_graphs_are_told_in_a_line(given, part):
    assert part in told(workers=4, topology=given)
