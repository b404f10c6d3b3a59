import math
import os
import sys
from types import SimpleNamespace

import pytest
import torch
from running import finished, start

from ngo.common.seeding import torch_stream
from ngo.native import triton_kernels

FUSED = """
import sys, torch
from ngo.gossip.card_graphs import CardMatrix
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native import triton_kernels


def rows(W):
    return MixingMatrix.of(W).on(torch.zeros(0), "rows")


def taken(X, W, gamma, p, at):
    # In new memory, and in that of what is read.
    out = torch.empty_like(X)
    assert triton_kernels.gossip_step(X, rows(W), gamma, p, at, out) is out
    for own in (X.clone(), at.clone()) if X.shape[1] == 1100 else ():
        seen = (own, at) if torch.equal(own, X) else (X, own)
        triton_kernels.gossip_step(seen[0], rows(W), gamma, p, seen[1], own)
        assert torch.equal(own, out)
    # With all pairs as edges, of which some weigh 0: an infinite state reaches neighbours alone.
    pairs = CardMatrix(MixingMatrix.of(W).dense()[None], 0, None).on(torch.zeros(0), "rows")
    far = at.clone()
    far[0, :5] = torch.inf
    new = [triton_kernels.gossip_step(X, way, gamma, p, far, X * 0) for way in (rows(W), pairs)]
    assert torch.allclose(*new, rtol=0, atol=0, equal_nan=True)
    return out


steps = torch.load(sys.argv[1])
torch.save([taken(*step) for step in steps], sys.argv[1])
"""


@pytest.fixture(scope="module")
def fused_steps(tmp_path_factory):
    """The steps (X, W, γ, p, at) and the states after them, in Triton's interpreter, which needs no
    GPU.
    """
    pytest.importorskip("triton")
    path = tmp_path_factory.mktemp("triton_gossip") / "steps.pt"
    steps = [*small_steps(), *steps_of_all_sizes()]
    torch.save(steps, path)
    command = [sys.executable, "-c", FUSED, path]
    finished(start(command, env={**os.environ, "TRITON_INTERPRET": "1"}))
    return list(zip(steps, torch.load(path), strict=True))


def small_steps():
    """The kernel runs two programs for each worker."""
    generator = torch_stream(0, "test")
    W = torch.rand(5, 5, generator=generator, dtype=torch.float64).triu(1)
    W[0, 2] = W[1, 3] = 0  # no edges
    W = W + W.T
    X = torch.randn(5, 1100, generator=generator)
    X[0, :100] = X[1, :100]  # φ(0) = 0
    past = torch.randn(5, 1100, generator=generator)
    return [(X, W, 0.1, p, at) for p, at in ((0.5, X), (0.9, X), (0.7, past))]


def steps_of_all_sizes():
    """Subnormal numbers, 0, NaN and infinity included."""
    sizes = 2.0 ** torch.linspace(-149, 127.9, 2001, dtype=torch.float64)
    z = torch.cat([sizes.float(), torch.tensor([0.0, math.inf, math.nan])])
    z = torch.cat([z, -z])
    X, at = torch.zeros(2, len(z)), torch.stack([torch.zeros_like(z), z])
    W = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    return [(X, W, 1.0, p, at) for p in (0.5, 0.6, 0.75, 0.9, 1.5, 2)]


def test_a_launch_has_one_axis_for_any_number_of_parameters_and_workers(monkeypatch):
    """The others have at most 65,535 programs."""
    grids = []

    class Step:
        def __getitem__(self, grid):
            grids.append(grid)
            return lambda *arguments: None

    monkeypatch.setattr(triton_kernels, "_step", Step(), raising=False)
    monkeypatch.setattr(triton_kernels, "triton", SimpleNamespace(cdiv=lambda a, b: -(-a // b)))
    for n, d in ((3, 100_000_000), (100_000, 5)):
        X = torch.empty(n, d, device="meta")
        triton_kernels.gossip_step(X, (X[:, 0],) * 3, 0.1, 0.9, X, X)
    assert grids == [(3 * 97_657,), (100_000,)]


def test_a_step_equals_its_equation_in_the_whole_range_of_float32(fused_steps):
    for (X, W, _, p, at), found in fused_steps[:3]:
        z = at[None] - at[:, None]  # [i, j] is at_j − at_i
        pulls = z.double().sign() * z.double().abs() ** (2 * p - 1)
        expected = X + 0.1 * torch.einsum("ij,ijd->id", W, pulls)
        assert torch.allclose(found.double(), expected, atol=1e-6)
    for (*_, p, at), new in fused_steps[3:]:
        z = at[1].double()
        expected = z.sign() * z.abs() ** (2 * p - 1)
        expected[z.isnan()] = math.nan
        expected[expected.abs() > 3.4e38] *= math.inf
        assert torch.allclose(new[0].double(), expected, rtol=2e-5, atol=2.0**-126, equal_nan=True)
        assert torch.allclose(new[0], -new[1], equal_nan=True)
