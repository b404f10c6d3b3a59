import torch
from stepping import Stepping, states


def test_sgd_moves_each_worker_along_its_gradient():
    X, G = states()
    stepping = Stepping("ngo", X, lr=0.3)
    stepping.step(G).descend()
    assert torch.equal(stepping.X, X.sub(G, alpha=0.3))
    assert stepping.matrices == {}
