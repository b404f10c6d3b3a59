"""Pulls of the compiled step against float64, over the whole range of float32."""

import math
from types import SimpleNamespace

import pytest
import torch

from ngo.gossip.coupling import COUPLINGS
from ngo.native.shared_work import fits

SPECIAL = torch.tensor([0.0, math.inf, -math.inf, math.nan])


def pulled(coupling, z, weight, gamma, **fields):
    """The pulls ``[k]`` on a worker at 0, by the compiled step and by the equation in float64."""
    run, W = SimpleNamespace(**fields), torch.tensor([[0.0, weight], [weight, 0.0]]).double()
    at = torch.stack([torch.zeros_like(z), z])
    if not fits(at):
        pytest.skip("nothing is compiled here")
    entry = COUPLINGS[coupling]
    new = entry.step(torch.zeros_like(at), W, gamma, run, at=at)
    assert torch.equal(new[0][new[0].isfinite()], -new[1][new[1].isfinite()])
    weights = torch.full((len(z), 1), weight).double()
    return new[0].double(), entry.pull(z.double()[:, None], weights, gamma, run)[:, 0]


def check_pulls(coupling, corner, weight, gamma, **fields):
    """Relative errors are at most 1e-6; ``corner`` is a z near which the pull changes its form."""
    sizes = 2.0 ** torch.linspace(-149, 127.9, 10_001, dtype=torch.float64)
    near = corner * 2.0 ** torch.linspace(-20, 20, 10_001, dtype=torch.float64)
    sizes = torch.cat([sizes, near[(near > 2.0**-149) & (near < 2.0**127.9)]])
    z = torch.cat([sizes, -sizes]).float()
    found, expected = pulled(coupling, z, weight, gamma, **fields)
    normal = (expected.abs() > 2.0**-125) & (expected.abs() < 2.0**127.9)
    assert normal.sum() > 10_000
    assert (found / expected - 1)[normal].abs().max() < 1e-6
    small = expected.abs() <= 2.0**-125
    assert torch.allclose(found[small], expected[small], rtol=0, atol=2.0**-146)
    found, _ = pulled(coupling, SPECIAL, weight, gamma, **fields)
    assert found[0] == 0
    assert found[1] == -found[2] >= 0
    assert found[3].isnan()
