"""Clique averaging equals its slow reference; one clique has the mean gradient."""

import by_worker
import numpy as np
import pytest
import torch
from stepping import Stepping
from test_corrections import LR, A, B, grad, trained

from ngo.gossip.methods.gossip import within_cliques
from ngo.gossip.mixing_matrix import MixingMatrix, mixing_matrix
from ngo.gossip.topologies.static import complete, d_cliques

GRAPH = d_cliques(by_worker.N, 3, "every_pair")
W = mixing_matrix(GRAPH)


def reference(grad, steps, lr, gamma, p, clique, pull):
    """Each worker takes the mean gradient of its clique, then gossips along all edges."""
    x = by_worker.start()
    for _ in range(steps):
        g = {i: grad(i, x[i]) for i in x}
        half = {}
        for i in x:
            mine = [g[j] for j in x if j // clique == i // clique]
            half[i] = x[i] - lr * sum(mine) / len(mine)
        x = by_worker.pulled(W.numpy(), half, gamma, p, pull)
    return np.stack(list(x.values()))


@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("capped", 0.8)])
def test_it_is_its_reference(coupling, p):
    given = {"coupling": coupling, "cap": 0.5, "clique": 3}
    found = trained("clique_averaging", W, 50, lr=LR, gamma=0.6, p=p, **given)
    expected = reference(grad, 50, LR, 0.6, p, 3, getattr(by_worker, coupling))
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


def test_a_clique_of_one_worker_is_gossip_and_one_of_all_has_the_mean_gradient():
    alone = trained("clique_averaging", W, 50, lr=LR, gamma=0.6, p=1.0, clique=1)
    assert np.allclose(alone, trained("gossip", W, 50, lr=LR, gamma=0.6, p=1.0), rtol=0, atol=1e-12)
    everyone = mixing_matrix(complete(by_worker.N))
    found = trained("clique_averaging", everyone, 600, lr=LR, gamma=1.0, p=1.0, clique=6)
    assert np.abs(found - by_worker.solution(A, B)).max() < 1e-7


def test_models_cross_all_edges_and_gradients_those_within_cliques():
    X = torch.zeros(by_worker.N, by_worker.D).double()
    stepping = Stepping("clique_averaging", X, W, clique=3)
    inside = sum(i // 3 == j // 3 for i, j in GRAPH.edges)
    assert stepping.advance() == 2 * (len(GRAPH.edges) + inside)
    assert stepping.network.exchanges == 1


def test_the_weights_within_cliques_conserve_the_mean_where_edges_are_missing():
    C = within_cliques(MixingMatrix.of(W), 3).dense()
    block = torch.ones(3, 3).double() / 3
    assert torch.allclose(C, torch.block_diag(block, block))
    lost = MixingMatrix.of(W).without(torch.arange(MixingMatrix.of(W).edges) < 3)
    C = within_cliques(lost, 4).dense()
    assert torch.allclose(C.sum(1), torch.ones(6).double())
    assert not C[:4, 4:].any()
