import torch
from stepping import D, N, Stepping, states


def test_all_workers_move_by_the_mean_gradient_through_a_server():
    x, G = states()[0][0], states()[1]
    stepping = Stepping("centralized", x.expand(N, D))
    assert stepping.advance(G) == 2 * N
    assert (stepping.X[0] == stepping.X).all()
    assert torch.allclose(stepping.X[0], x - 0.1 * G.mean(0))
