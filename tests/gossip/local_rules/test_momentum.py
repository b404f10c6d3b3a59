import torch
from stepping import Stepping, ring_matrix, states


def test_momentum_moves_each_worker_as_torchs_sgd():
    X, G = states()
    found = Stepping("ngo", X, ring_matrix(), rule="momentum", momentum=0.8, gamma=1e-30)
    rows = [torch.nn.Parameter(row.clone()) for row in X]
    optimizer = torch.optim.SGD(rows, lr=0.1, momentum=0.8)
    for k in range(5):
        gradients = G * (-1) ** k + k
        found.advance(gradients)
        for row, gradient in zip(rows, gradients, strict=True):
            row.grad = gradient.clone()
        optimizer.step()
    assert torch.allclose(found.X, torch.stack([row.data for row in rows]), atol=1e-12)
