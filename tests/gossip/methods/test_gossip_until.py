import pytest
import torch
from stepping import N, Stepping, ring_matrix, states

from ngo.gossip.consensus import synchronization_index
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.weights import metropolis_hastings


@pytest.mark.parametrize("threshold", [0.5, 5.0])
def test_gossip_is_repeated_until_v_is_small_enough(threshold):
    X, G = states()
    X *= 3
    stepping = Stepping("gossip_until", X, ring_matrix(), p=1.0, gamma=1.0, v_threshold=threshold)
    start = synchronization_index(X - 0.1 * G)
    rounds, left = divmod(stepping.advance(G), 2 * N)
    assert start > threshold >= synchronization_index(stepping.X)
    assert left == 0
    assert rounds >= 1
    reference = X - 0.1 * G
    for _ in range(rounds - 1):
        reference = gossip_step(reference, ring_matrix(), 1.0, 1.0)
    assert synchronization_index(reference) > threshold


def test_gossip_on_a_disconnected_graph_ends():
    X, G = states()
    W = metropolis_hastings(N, [(0, 1), (2, 3)])
    stepping = Stepping("gossip_until", X, W, p=1.0, gamma=1.0, v_threshold=1e-9)
    assert stepping.advance(G) > 0
    assert torch.allclose(stepping.X[0], stepping.X[1])
