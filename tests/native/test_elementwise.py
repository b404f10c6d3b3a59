"""Kernels: elementwise operations as in torch, compressions and gossip steps as in float64."""

import math
import random
import threading
import time
import weakref

import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native import build, compress
from ngo.native import threads as shared
from ngo.native.elementwise import elementwise
from ngo.native.gossip_step import gossip, sums
from ngo.native.threads import in_order, threads

OPERATIONS = {
    "copy_": lambda x, y, w, s: x.copy_(y),
    "add_": lambda x, y, w, s: x.add_(y, alpha=s),
    "sub_": lambda x, y, w, s: x.sub_(y, alpha=s).sub_(0.5),
    "mul_": lambda x, y, w, s: x.mul_(y).mul_(s),
    "div_": lambda x, y, w, s: x.div_(y * y + 1),
    "addcmul_": lambda x, y, w, s: x.addcmul_(y, w, value=s),
    "addcdiv_": lambda x, y, w, s: x.addcdiv_(w, y * y + 1, value=s),
    "lerp_": lambda x, y, w, s: x.lerp_(y, s),
    "sqrt": lambda x, y, w, s: x.copy_((y * y + w * w).sqrt()),
    "in turn": lambda x, y, w, s: x.copy_((x - y) * w + x / (w * w + s * s) - s),
}


@pytest.mark.parametrize("seed", range(8))
def test_chains_are_those_of_torch_in_float64(seed):
    """100 random chains of random shapes: contiguous, with wider rows, with columns."""
    draw, spread = random.Random(seed), in_order
    for k in range(100):
        n, d = draw.randint(1, 5), draw.choice([1, 2, 15, 16, 17, draw.randint(1, 1200)])
        wide = torch.randn(3, n, d + 3, generator=torch_stream(1000 * seed + k, "matrices"))
        matrices = [m[:, 1 : d + 1] if draw.random() < 0.3 else m[:, :d].clone() for m in wide]
        column = torch.randn(n, 1, generator=torch_stream(k, "column"))
        exact = [m.double() for m in matrices]
        chains, exactly = [], []
        for _ in range(draw.randint(1, 4)):
            name, s = draw.choice(list(OPERATIONS)), draw.uniform(-2, 2)
            i, j, w = draw.randrange(3), draw.randrange(3), draw.randrange(4)

            def f(x, y, w, name=name, s=s):
                OPERATIONS[name](x, y, w, s)

            chains.append((f, matrices[i], matrices[j], [*matrices, column][w]))
            exactly.append((f, exact[i], exact[j], [*exact, column.double()][w]))
        elementwise(*chains, spread=spread)
        elementwise(*exactly, spread=spread)
        for found, expected in zip(matrices, exact, strict=True):
            size = max(1.0, float(max(m.abs().max() for m in exact)))
            assert (found - expected).abs().max() < 1e-4 * size


@pytest.mark.parametrize("width", [60_000, 60_003])
def test_bytes_are_the_same_for_any_number_of_threads(width):
    def chain(x, y, w):
        x.addcmul_(y, w, value=0.3).div_(y * y + 1)
        y.lerp_(x, 0.7)

    found = []
    for spread in (in_order, threads(2), threads(3)):
        generator = torch_stream(0, "matrices")
        x, y = torch.randn(2, 7, width, generator=generator)[:, :, :60_000]
        elementwise((chain, x, y, torch.randn(7, 1, generator=generator)), spread=spread)
        found.append((x.clone(), y.clone()))
    for x, y in found[1:]:
        assert torch.equal(x, found[0][0])
        assert torch.equal(y, found[0][1])


@pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
def test_what_the_compiled_code_does_not_take_is_left_to_torch():
    """It would record an exponential; torch has it."""

    def f(x):
        x.exp_()

    for x in (torch.zeros(2, 3).double(), torch.zeros(3, 2).T):
        elementwise((f, x), spread=in_order)
        assert (x == 1).all()
    with pytest.raises(AttributeError, match="exp_"):
        elementwise((f, torch.zeros(2, 3)), spread=in_order)


@pytest.fixture(params=[True, False], ids=["compiled", "not compiled"])
def compiled(request, monkeypatch):
    """With the compiled library, whose threads spin before they sleep, and without it."""
    if request.param and build.march() == "none":
        pytest.skip("NGO_MARCH=none")
    if not request.param:
        monkeypatch.setattr(shared, "library", lambda: None)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_map_returns_results_in_order(compiled, count):
    spread = shared.threads(count)
    for k in (0, 1, 2, 3, 100):
        for _ in range(20):
            assert spread(lambda i: i * i, k) == [i * i for i in range(k)]


def test_threads_work_at_the_same_time(compiled):
    both = threading.Barrier(2, timeout=60)
    here = shared.threads(2)(lambda i: (both.wait(), threading.get_ident())[1], 2)
    assert len(set(here)) == 2
    assert threading.get_ident() in here


@pytest.mark.parametrize("who", ["caller", "helper"])
def test_an_error_is_raised_in_the_calling_thread(compiled, who):
    spread = shared.threads(2)
    both = threading.Barrier(2, timeout=60)

    def fail(i):
        both.wait()
        if (threading.current_thread() is threading.main_thread()) == (who == "caller"):
            raise KeyboardInterrupt(who)
        return i

    for _ in range(2):  # the threads survive it
        with pytest.raises(KeyboardInterrupt, match=who):
            spread(fail, 2)
    assert spread(lambda i: i, 3) == [0, 1, 2]


def test_helpers_end_with_their_map_and_keep_no_references(compiled):
    class Tensor:
        """An object that the work refers to."""

    tensor = Tensor()
    kept = weakref.ref(tensor)
    before = set(threading.enumerate())
    spread = shared.threads(3)
    helpers = set(threading.enumerate()) - before
    assert len(helpers) == 2
    assert spread(lambda i, tensor=tensor: i, 3) == [0, 1, 2]
    del tensor
    deadline = time.monotonic() + 60
    while kept() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert kept() is None
    del spread
    for helper in helpers:
        helper.join(deadline - time.monotonic())
        assert not helper.is_alive()


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
        assert torch.equal(its, keys.sort(descending=True, stable=True).indices[:k].sort().values)


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
    assert torch.allclose(found[subnormal], expected[subnormal], rtol=0, atol=2.0**-146)


@pytest.mark.parametrize("p", [0.51, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99])
def test_usual_powers_are_accurate_odd_and_monotone_and_the_same_beside_subnormal_numbers(p):
    """A million numbers: two units of float32 against float64. Where all numbers of a block are of
    moderate size another loop computes them, with the same results.
    """
    e = 2 * p - 1
    generator = torch_stream(0, "z")
    z = torch.randn(1_000_000, generator=generator)
    z *= torch.exp2(-60 * torch.rand(1_000_000, generator=generator))
    z[1:-1:1000] = 0
    z = z.sort().values
    found = pulls(z, e)
    expected = z.double().abs() ** e * z.sign()
    assert (found - expected)[z == 0].count_nonzero() == 0
    assert (found / expected - 1)[z != 0].abs().max() <= 2.4e-7
    assert (found.diff() >= 0).all()
    assert torch.equal(pulls(-z, e), -found)
    beside = z.clone()
    beside[::64] = 1e-40
    same = beside == z
    assert torch.equal(pulls(beside, e)[same], found[same])
    near = torch.arange(1 << 20, dtype=torch.int32) + 0x3F780000  # every float32 about 1
    fall = 2.0**-23 if build.march() == "x86-64" else 0  # without FMA, monotone to a unit
    assert (pulls(near.view(torch.float32), e).diff() >= -fall).all()


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
