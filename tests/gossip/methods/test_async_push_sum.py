import torch
from stepping import D, N, Stepping, states

from ngo.gossip.topology import TOPOLOGIES

DIRECTED = TOPOLOGIES["directed_ring"].matrix(N)


def test_with_equal_weights_it_is_push_sum():
    X, G = states()
    ours, theirs = (Stepping(name, X, DIRECTED) for name in ("async_push_sum", "push_sum"))
    for _ in range(5):
        ours.advance(G)
        theirs.advance(G)
    assert torch.allclose(ours.X, theirs.X)


def test_the_weighted_mean_is_conserved_and_a_step_is_eta_long_whatever_the_weight():
    X, G = states()
    stepping = Stepping("async_push_sum", X, DIRECTED)
    w = torch.tensor([[0.5], [2.0], [0.25], [1.25], [1.0]], dtype=torch.float64)
    stepping.matrices["w"] = w.clone()
    stepping.advance(G)
    expected = (w * (X - 0.1 * G)).sum(0)
    assert torch.allclose((stepping.matrices["w"] * stepping.X).sum(0), expected)
    assert torch.allclose(stepping.matrices["w"].sum(), w.sum())


def test_a_weight_of_zero_leaves_the_model():
    X, _ = states()
    stepping = Stepping("async_push_sum", X, torch.eye(N).double())
    stepping.matrices["w"] = torch.zeros(N, 1, dtype=torch.float64)
    stepping.advance(torch.ones(N, D))
    assert torch.allclose(stepping.X, X - 0.1)
