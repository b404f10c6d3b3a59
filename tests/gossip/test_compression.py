import itertools
from types import SimpleNamespace

import pytest
import torch
from compression_cases import NAMES, OPTIONS, D, N, codec_of, rows, sent

from ngo.common.fields import above, number
from ngo.common.registry import UserError
from ngo.gossip.compression import COMPRESSIONS, Codec, compression, kept_entries
from ngo.native.pool import in_order, threads


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("d", [1, 7, 8, D])
@pytest.mark.parametrize("name", NAMES)
def test_payloads_have_the_size_of_the_formula(name, d, dtype):
    codec = codec_of(name, d=d, dtype=dtype)
    payload = codec.encode(rows(d=d, dtype=dtype))
    assert payload.dtype == torch.uint8
    assert payload.shape == (N, codec.size(d, codec.run, dtype.itemsize))
    found = codec.decode(payload)
    assert (found.shape, found.dtype) == ((N, d), dtype)


def test_sizes_in_bytes():
    """Of 1000 numbers of 4 bytes: 10 are kept; 4 levels and a sign take 4 bits."""
    run = SimpleNamespace(kept_share=0.01, levels=4)
    sizes = {name: COMPRESSIONS[name].codec.size(1000, run, 4) for name in NAMES}
    assert sizes == {
        "none": 4000, "top_k": 80, "random_k": 48, "sign": 4 + 125, "qsgd": 4 + 500,
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_compression_is_a_contraction(name):
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


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_decoded_alike_by_everybody(name):
    """From the payload alone: a receiver has no streams, and other rows than the sender."""
    sender, receiver = codec_of(name), codec_of(name, n=0)
    payload = sender.encode(rows())
    assert torch.equal(receiver.decode(payload[[2]]), sender.decode(payload)[[2]])
    assert receiver.decode(payload[:0]).shape == (0, D)


@pytest.mark.parametrize("name", NAMES)
def test_a_worker_is_compressed_alike_in_any_company(name):
    """Each row has its own stream, which continues from call to call."""
    together, alone = codec_of(name), codec_of(name)
    alone.streams = together.streams[2:3]
    states = [stream.get_state() for stream in together.streams]
    first = [together.encode(rows(seed=seed)) for seed in (0, 1)]
    for stream, state in zip(together.streams, states, strict=True):
        stream.set_state(state)
    second = [alone.encode(rows(seed=seed)[2:3]) for seed in (0, 1)]
    for all_rows, own in zip(first, second, strict=True):
        assert torch.equal(all_rows[2:3], own)


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


def test_a_compression_is_registered_with_its_options(own_entries):
    part = number("share", 0.5, above(0))

    @compression("first", options={"first_share": part})
    class First(Codec):
        pass

    assert COMPRESSIONS["first"].codec is First
    assert COMPRESSIONS["first"].fields == ("first_share",)
    with pytest.raises(UserError, match=r"compression: 'topk' is unknown.*Did you mean 'top_k'"):
        COMPRESSIONS["topk"]
    assert set(OPTIONS) == {"kept_share", "levels"}
