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
    for given in (RING, RING.float(), RING.numpy(), edges, np.array(edges), graph):
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


def test_other_names_are_sorted():
    graph = nx.path_graph(["a", "d", "b", "c"])
    run = ring(topology=graph)
    assert values(run).equals(values(ring(topology=[(0, 3), (3, 1), (1, 2)])))


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
        ([(0, 1), (2, 3)], "does not connect the 4 workers: there are no paths both ways"),
        ([(0, 1), (1, 2), (2, 9)], "has an edge (2, 9) on 4 workers"),
        ("rong", "Did you mean 'ring'?"),
        (nx.Graph(), "workers: "),
        (nx.from_numpy_array(RING.numpy()), "topology: the graph has edges with weights, which"),
        (object(), "a object is no graph or matrix; for example topology='ring', [(0, 1), (1, 2)]"),
    ],
)
def test_other_graphs_are_told_in_a_line(given, part):
    assert part in told(workers=4, topology=given)
