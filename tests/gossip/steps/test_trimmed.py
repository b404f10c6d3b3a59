import networkx as nx
import torch
from stepping import states

from ngo.gossip.couplings.robust import trimmed_step
from ngo.gossip.mixing_matrix import MixingMatrix, mixing_matrix
from ngo.native.pool import in_order


def test_workers_of_different_degrees_with_models_of_another_time():
    """A star and an isolated worker: neighbourhoods of six, two and one."""
    X, Y = states(n=7)
    graph = nx.star_graph(5)
    graph.add_node(6)
    W = MixingMatrix.of(mixing_matrix(graph))
    found = trimmed_step(X, W, 0.5, 2, at=Y, out=torch.empty_like(X), spread=in_order)
    hub = Y[:6].sort(0).values[2:4].mean(0)
    assert torch.allclose(found[0], X[0] + 0.5 * (hub - Y[0]))
    for leaf in range(1, 6):
        assert torch.allclose(found[leaf], X[leaf] + 0.5 * ((Y[0] + Y[leaf]) / 2 - Y[leaf]))
    assert torch.equal(found[6], X[6])


def test_columns_do_not_depend_on_each_other_and_a_step_is_in_place():
    X, _ = states(n=30, d=20_000)
    W = MixingMatrix.of(mixing_matrix(nx.random_regular_graph(4, 30, seed=0)))
    whole = trimmed_step(X, W, 1.0, 1, at=X, out=torch.empty_like(X), spread=in_order)
    part = X[:, 7_000:7_010].clone()
    assert torch.equal(trimmed_step(part, W, 1.0, 1, at=part, out=part, spread=in_order),
                       whole[:, 7_000:7_010])  # fmt: skip
