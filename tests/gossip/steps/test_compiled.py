import pytest
import torch
from weighted import naive_step, random_weights

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.steps import compiled
from ngo.native.pool import in_order


def test_it_takes_contiguous_float32_on_a_cpu_only():
    X = torch.zeros(4, 6)
    if not compiled.fits(X):
        pytest.skip("nothing is compiled here")
    assert compiled.fits(X, X, X)
    assert not compiled.fits(X.double())
    assert not compiled.fits(X, X.T.reshape(4, 6).T.contiguous().T)
    assert not compiled.fits(X, X, torch.zeros(6, 4).T)
    assert not compiled.fits(X.to("meta"))


@pytest.mark.parametrize("stale", [False, True])
def test_the_compiled_step_equals_the_equation(stale):
    X, Y = torch.randn(2, 5, 333, generator=torch_stream(0, "X"))
    if not compiled.fits(X):
        pytest.skip("nothing is compiled here")
    W = random_weights(5, 0.6, 1)
    at = Y if stale else X
    new = compiled.compiled_step(
        X, MixingMatrix.of(W), 0.2, 0.6, at=at, out=torch.empty_like(X), spread=in_order
    )
    assert torch.allclose(new, X + naive_step(at, W, 0.2, 0.8) - at, atol=1e-6)
