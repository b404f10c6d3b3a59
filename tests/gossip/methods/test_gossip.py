import pytest
import torch
from stepping import N, Stepping, ring_matrix, states

from ngo.gossip.gossip_step import gossip_step


@pytest.mark.parametrize(("method", "p"), [("ngo", 0.8), ("gossip", 1.0)])
def test_a_step_is_a_half_step_and_a_pull(method, p):
    X, G = states()
    stepping = Stepping(method, X, ring_matrix(), p=p)
    assert stepping.advance(G) == 2 * N
    half = X.sub(G, alpha=0.1)
    assert torch.equal(stepping.X, gossip_step(half, ring_matrix(), 0.2, p))
