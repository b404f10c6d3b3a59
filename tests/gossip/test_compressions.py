"""What each compression sends, its size, its bias and its error."""

import itertools
from types import SimpleNamespace

import pytest
import torch
from cases import mistake_of
from rates import check_uniform

from ngo.common.registries import COMPRESSIONS
from ngo.common.seeding import torch_stream
from ngo.gossip.compression import Codec, kept_entries
from ngo.native.threads import in_order, threads

N, D = 4, 41
OPTIONS = {"kept_share": 0.2, "levels": 5}
NAMES = ("none", "top_k", "random_k", "sign", "qsgd")


def codec_of(name, *, n=N, d=D, dtype=torch.float64, seed=0, **options):
    run = SimpleNamespace(**{**OPTIONS, **options})
    streams = [torch_stream(seed, "compression", i) for i in range(n)]
    return COMPRESSIONS[name].of(d, dtype, run, streams)


def rows(n=N, d=D, dtype=torch.float64, seed=0):
    return torch.randn(n, d, generator=torch_stream(seed, "rows"), dtype=dtype)


def sent(codec, z):
    """C(z)."""
    return codec.decode(codec.encode(z))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("d", [1, 7, 8, D])
@pytest.mark.parametrize("name", NAMES)
def test_payloads_have_the_size_of_the_formula(name, d, dtype):
    codec = codec_of(name, d=d, dtype=dtype)
    payload = codec.encode(rows(d=d, dtype=dtype))
    assert payload.dtype == torch.uint8
    assert payload.shape == (N, codec.size(d, codec.run, dtype.itemsize))
    actual = codec.decode(payload)
    assert (actual.shape, actual.dtype) == ((N, d), dtype)


def test_sizes_in_bytes():
    """Of 1000 numbers of 4 bytes: 10 are kept; 4 levels and a sign take 4 bits."""
    run = SimpleNamespace(kept_share=0.01, levels=4)
    sizes = {name: COMPRESSIONS[name].of.size(1000, run, 4) for name in NAMES}
    assert [sizes[name] for name in NAMES] == [4000, 80, 48, 4 + 125, 4 + 500]


@pytest.mark.parametrize("name", NAMES)
def test_a_compression_is_a_contraction_and_the_same_in_any_company(name):
    """E‖C(z) − z‖² ≤ (1 − δ)‖z‖²; the mean is over 2000 rows."""
    codec, z = codec_of(name, n=2000), rows(n=2000)
    k = kept_entries(D, codec.run)
    norms = z.norm(dim=1)
    delta = {
        "none": torch.tensor(1.0),
        "top_k": torch.tensor(k / D),
        "random_k": torch.tensor(k / D),
        "sign": z.abs().sum(1).square() / (D * norms.square()),
        "qsgd": torch.tensor(1 / (1 + min(D / 25, D**0.5 / 5))),
    }[name]
    left = (sent(codec, z) - z).square().sum(1) / norms.square()
    assert left.mean() <= (1 - delta).mean() + 0.01
    # Each row has its own stream, which continues from call to call.
    together, alone = codec_of(name), codec_of(name)
    alone.streams = together.streams[2:3]
    states = [stream.get_state() for stream in together.streams]
    first = [together.encode(rows(seed=seed)) for seed in (0, 1)]
    for stream, state in zip(together.streams, states, strict=True):
        stream.set_state(state)
    second = [alone.encode(rows(seed=seed)[2:3]) for seed in (0, 1)]
    for all_rows, row_alone in zip(first, second, strict=True):
        assert torch.equal(all_rows[2:3], row_alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_without_a_payload_the_bytes_are_those_of_one(name, dtype):
    """x̂ + C(x − x̂), for any number of threads; streams end in the same state."""
    for d, spread in itertools.product((1, 16, 1500, 40_000), (in_order, threads(2))):
        direct, by_payload = (codec_of(name, d=d, dtype=dtype) for _ in range(2))
        x, x_hat = rows(d=d, dtype=dtype), rows(d=d, dtype=dtype, seed=1)
        expected = x_hat.clone()
        x_hat[2, d // 3] = x[2, d // 3]  # an entry of 0
        expected[2, d // 3] = x[2, d // 3]
        for _ in range(3):
            direct.add(x, x_hat, spread)
            expected += sent(by_payload, x - expected)
            assert torch.equal(x_hat, expected)
        for one, other in zip(direct.streams, by_payload.streams, strict=True):
            assert torch.equal(one.get_state(), other.get_state())


@pytest.mark.parametrize("kept", [0.01, 0.2, 1.0])
def test_top_k_sends_the_largest_entries_as_they_are(kept):
    z = rows()
    actual = sent(codec_of("top_k", kept_share=kept), z)
    assert ((actual != 0).sum(1) == max(1, round(kept * D))).all()
    assert torch.equal(actual[actual != 0], z[actual != 0])
    for row, left in zip(actual, z - actual, strict=True):
        assert row[row != 0].abs().min() >= left.abs().max()


def test_random_k_keeps_each_entry_as_likely_and_sign_the_mean_magnitude():
    draws, d = 2_000, 20
    codec = codec_of("random_k", n=draws, d=d, kept_share=0.25)
    kept = sent(codec, torch.ones(draws, d).double()) != 0
    assert (kept.sum(1) == 5).all()
    check_uniform(kept.sum(0).numpy())
    z = rows()
    z[0, 0] = 0
    scale = z.abs().mean(1, keepdim=True)
    assert torch.equal(sent(codec_of("sign"), z), torch.where(z < 0, -scale, scale))


@pytest.mark.parametrize(("d", "levels"), [(20, 2), (20, 5)])
def test_qsgd_is_unbiased_before_it_is_divided(d, levels):
    """And its variance is at most min(d/s², √d/s)‖z‖²: lemma 3.1 of the paper."""
    z, tau = rows(1, d)[0], 1 + min(d / levels**2, d**0.5 / levels)
    codec = codec_of("qsgd", n=4000, d=d, levels=levels)
    unbiased = tau * sent(codec, z.expand(4000, -1).contiguous())
    assert torch.allclose(unbiased.mean(0), z, atol=0.15)
    assert (unbiased - z).square().sum(1).mean() <= (tau - 1) * z.square().sum()
    assert codec.tau == tau


@pytest.mark.parametrize("factor", [1e25, 1e-25, 1e37, 1e-37])
def test_rows_whose_squares_leave_the_range_are_compressed_as_others(factor):
    z = rows(dtype=torch.float32)
    expected = sent(codec_of("qsgd", dtype=torch.float32), z)
    actual = sent(codec_of("qsgd", dtype=torch.float32), z * factor)
    assert torch.allclose(actual / factor, expected, rtol=1e-4)
    assert actual.any()


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (3, "its payloads are torch.uint8 of shape [2, 20]; by its size they must be uint8 [2, 3]"),
        (20.0, "its size is 20.0; it must be a whole number (int)"),
    ],
)
def test_payloads_of_another_size_than_is_counted_are_refused(size, told):
    class Mine(COMPRESSIONS["none"].of):
        def add(self, x, x_hat, spread):
            Codec.add(self, x, x_hat, spread)

        @staticmethod
        def size(d, run, number):
            return size

    codec = Mine(5, torch.float32, SimpleNamespace(compression="mine"))
    x = torch.ones(2, 5)
    line = mistake_of(codec.add, x, torch.zeros_like(x), in_order)
    assert line == f"compression 'mine': {told}."
