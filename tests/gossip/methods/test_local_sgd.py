import torch
from stepping import N, Stepping, ring_matrix, states

from ngo.gossip.gossip_step import gossip_step


def test_workers_exchange_after_every_hth_step():
    X, G = states()
    stepping = Stepping("local_sgd", X, ring_matrix(), local_steps=3)
    sent = [stepping.advance(G) for _ in range(6)]
    assert sent == [0, 0, 2 * N, 0, 0, 2 * N]
    expected = X.clone()
    for _ in range(2):
        for _ in range(3):
            expected.sub_(G, alpha=0.1)
        expected = gossip_step(expected, ring_matrix(), 0.2, 0.8)
    assert torch.equal(stepping.X, expected)
