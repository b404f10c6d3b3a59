import math

import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native import build
from ngo.native.gossip_step import gossip, sums

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")

# The edge between two workers, with weight 1.
PAIR = torch.tensor([0]), torch.tensor([1]), torch.ones(1, dtype=torch.float64)


def pulls(z, e):
    """The pulls from workers at ``z`` on a worker at 0."""
    X = torch.stack([torch.zeros_like(z), z])
    new = torch.empty_like(X)
    gossip(X, torch.zeros_like(X), new, PAIR, 1.0, e)
    assert torch.equal(new[0], -new[1]) or not new.isfinite().all()
    return new[0]


@pytest.mark.parametrize("p", [0.25, 0.5, 0.501, 0.75, 0.9, 2])
def test_powers_are_accurate_to_a_few_units_in_the_last_place(p):
    """From the smallest float32 to the largest, against float64."""
    e = 2 * p - 1
    sizes = 2.0 ** torch.linspace(-149, 127.99, 100_001, dtype=torch.float64)
    z = torch.cat([sizes, -sizes]).float()
    expected = z.double().abs() ** e * z.sign()
    found = pulls(z, e).double()
    normal = (expected.abs() > 2.0**-126) & (expected.abs() < 2.0**127.99)
    assert normal.sum() > 50_000
    assert (found / expected - 1)[normal].abs().max() < 3e-7
    subnormal = expected.abs() <= 2.0**-126  # with fewer digits
    assert torch.allclose(found[subnormal], expected[subnormal], rtol=0, atol=2.0**-148)


def test_powers_of_special_numbers():
    z = torch.tensor([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan])
    for e in (-0.5, 0.0, 0.01, 0.8, 2.0):
        found = pulls(z, e)
        assert found[:4].tolist() == [0, 0, 1, -1]
        limit = {-0.5: 0, 0.0: 1}.get(e, math.inf)
        assert found[4:6].tolist() == [limit, -limit]
        assert found[6].isnan()
    assert pulls(torch.tensor([3.0, -0.2, 1e-30, -1e-42]), 0.0).tolist() == [1, -1, 1, -1]
    assert pulls(torch.tensor([1e-20, 1e20]), 3.0).tolist() == [0, math.inf]


def test_pulls_and_sums_of_random_shapes():
    """600 shapes, on random graphs, against float64."""
    generator = torch_stream(0, "shapes")
    for _ in range(600):
        n, d = (int(torch.randint(1, most, (), generator=generator)) for most in (9, 400))
        seen, X = torch.randn(2, n, d, generator=generator)
        W = torch.rand(n, n, generator=generator, dtype=torch.float64)
        edges = MixingMatrix.of(W * (W < 0.5))
        new = torch.empty_like(X)
        gossip(seen, X, new, edges.pairs, 0.3, 0.8)
        i, j, weights = edges.pairs
        z = seen.double()[j] - seen.double()[i]
        pulls = 0.3 * weights[:, None] * z.sign() * z.abs() ** 0.8
        expected = X.double().index_add(0, i, pulls).index_add(0, j, -pulls)
        assert torch.allclose(new.double(), expected, rtol=0, atol=1e-5)
        rows = edges.starts, edges.senders, edges.weights
        sums(seen, X, new, rows, (0.2, 0.5, edges.diagonal), 0.3)
        factor = 0.3 * edges.dense().fill_diagonal_(0) + (0.2 + 0.5 * edges.diagonal).diag()
        expected = X.double() + factor @ seen.double()
        assert torch.allclose(new.double(), expected, rtol=0, atol=1e-5)
        sums(new, None, new, rows, (0, 1, edges.diagonal), 1.0)  # in place
        assert torch.allclose(new.double(), edges.dense() @ expected, rtol=0, atol=2e-5)
