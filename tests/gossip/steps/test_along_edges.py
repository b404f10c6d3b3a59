import torch
from weighted import naive_step, random_weights

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.phi import phi
from ngo.gossip.steps.along_edges import step_along_edges
from ngo.native.pool import in_order


def test_a_pull_may_overwrite_its_differences():
    X = torch.randn(7, 30, generator=torch_stream(0, "X"), dtype=torch.float64)
    W = random_weights(7, 0.6, 2)
    edges = MixingMatrix.of(W)

    def kept(z, weights):
        return 0.3 * weights * phi(z, 0.8)

    def overwritten(z, weights):
        return z.copy_(kept(z, weights))

    new = [step_along_edges(X, edges, pull, at=X, out=torch.empty_like(X), spread=in_order)
           for pull in (kept, overwritten)]  # fmt: skip
    assert torch.equal(*new)
    assert torch.allclose(new[0], naive_step(X, W, 0.3, 0.8), atol=1e-12)
