"""The kernels of compressions against float64, on random shapes."""

import math
import random

import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native import build, compress
from ngo.native.gossip_step import gossip, sums
from ngo.native.threads import in_order, threads

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")

SEEDS = range(3)
# The edge between two workers, with weight 1.
PAIR = torch.tensor([0]), torch.tensor([1]), torch.ones(1, dtype=torch.float64)


def cases(seed, count):
    """Random rows x ``[n, d]`` with rows h, or one row, and a generator of choices."""
    draw = random.Random(seed)
    for k in range(count):
        n, d = draw.randint(1, 4), draw.choice([1, 16, 623, 624, 625, draw.randint(2, 5000)])
        x, h = torch.randn(2, n, d, generator=torch_stream(1000 * seed + k, "rows"))
        if draw.random() < 0.3:
            x, h = x.round(decimals=1), h.round(decimals=1)  # with equal entries and zeros
        yield x, h[:1].clone() if draw.random() < 0.3 else h, draw


def streams(n):
    return [torch_stream(0, "compression", i) for i in range(n)]


@pytest.mark.parametrize("seed", SEEDS)
def test_signs(seed):
    for x, h, _ in cases(seed, 50):
        if len(h) == len(x):
            scales = (compress.row_sums(x - h)[:, :1] / x.shape[1]).float()
            expected = h + torch.where(x - h < 0, -scales, scales)
            compress.add_signs(x, h, spread=in_order)
            assert torch.equal(h, expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_largest_entries_and_of_equal_ones_the_first(seed):
    for x, h, draw in cases(seed, 100):
        k = min(x.shape[1], draw.choice([1, 2, 10, draw.randint(1, x.shape[1])]))
        found = compress.largest(x, h, k).sort(1).values
        expected = (x - h).abs().sort(dim=1, descending=True, stable=True).indices[:, :k]
        assert torch.equal(found, expected.sort(1).values)


def test_the_largest_entries_of_rows_that_a_sample_misjudges():
    """Large entries that no sample sees; all entries alike; not a number."""
    d, k = 100_000, 1000
    rows = torch.rand(4, d, generator=torch_stream(0, "rows"))
    rows[0, 1 : 49 * 600 : 49] += 1
    rows[1] = -1
    rows[2, :: -(-d // 2048)] += 100
    rows[3, 70_000] = math.nan
    rows[3, 5] = -math.inf
    found = compress.largest(rows, torch.zeros(1, d), k).sort(1).values
    for row, its in zip(rows, found, strict=True):
        keys = row.abs().nan_to_num(nan=math.inf, posinf=1e38)
        expected = keys.sort(descending=True, stable=True).indices[:k]
        assert torch.equal(its, expected.sort().values)


@pytest.mark.parametrize("seed", SEEDS)
def test_rounding_is_by_torchs_draws(seed):
    """A level differs from that of float64 only where rounding decides it."""
    for z, _, draw in cases(seed, 50):
        levels, own, its = draw.randint(1, 127), streams(len(z)), streams(len(z))
        norm = z.double().norm(dim=1, keepdim=True)
        for _ in range(2):
            exact = levels * z.double().abs() / norm.clamp_min(1e-30)
            exact += torch.stack([torch.rand(z.shape[1], generator=stream) for stream in its])
            found = compress.codes(z, levels, own)
            negative = 1 << levels.bit_length()
            assert torch.equal(found >= negative, z < 0)
            level = (found & (negative - 1)).double()
            apart = level != exact.floor().clamp(max=levels)
            assert (exact - exact.round()).abs()[apart].le(5e-5).all()
        for one, other in zip(own, its, strict=True):
            assert torch.equal(one.get_state(), other.get_state())


def test_bytes_are_the_same_for_any_number_of_threads_and_entries_those_of_x():
    def results(spread):
        x, h = torch.randn(2, 7, 60_000, generator=torch_stream(0, "rows"))
        yield compress.largest(x, h, 600, spread=spread)
        compress.add_signs(x, h, spread=spread)
        yield h.clone()
        compress.add_rounded(x, h, 7, 9.0, streams(7), spread=spread)
        yield h

    for other in (threads(2), threads(3)):
        for one, its in zip(results(in_order), results(other), strict=True):
            assert torch.equal(one, its)
    x, h = torch.randn(2, 3, 50, generator=torch_stream(0, "x"))
    indices = torch.tensor([[0, 49], [7, 3], [11, 12]])
    rows = torch.arange(3)[:, None]
    expected = h.clone()
    expected[rows, indices] += (x - h)[rows, indices]
    compress.add_entries(x, h, indices, spread=in_order)
    assert torch.equal(h, expected)
    with pytest.raises(ValueError, match="indices must be from 0 to 49"):
        compress.add_entries(x, h, indices + 1, spread=in_order)


# Gossip steps.


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
