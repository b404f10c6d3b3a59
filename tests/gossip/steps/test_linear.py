import torch
from weighted import random_weights

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.spectrum import laplacian
from ngo.gossip.steps import column_blocks
from ngo.gossip.steps.linear import linear_step, mix
from ngo.native.pool import in_order, threads


def test_the_linear_step_is_a_product_with_the_laplacian():
    X, Y = torch.randn(2, 6, 40, generator=torch_stream(0, "X"), dtype=torch.float64)
    W = random_weights(6, 0.6, 1)
    L, edges = laplacian(W), MixingMatrix.of(W)
    for at in (X, Y):
        new = linear_step(X, edges, 0.3, at=at, out=torch.empty_like(X), spread=in_order)
        assert torch.allclose(new, X - 0.3 * L @ at, atol=1e-14)


def test_mixing_is_a_product_with_w_in_place(monkeypatch):
    monkeypatch.setattr(column_blocks, "BLOCK", 20)
    X = torch.randn(6, 400, generator=torch_stream(0, "X"))
    W = torch.rand(6, 6, generator=torch_stream(1, "X"), dtype=torch.float64)  # not symmetric
    expected = W.float() @ X
    for spread in (in_order, threads(3)):
        mine = X.clone()
        mix(mine, MixingMatrix.of(W), spread=spread)
        assert torch.allclose(mine, expected, atol=1e-6)
