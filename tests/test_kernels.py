import ctypes
import math
import shutil
import subprocess
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from ngo import kernels
from ngo.coupling import gossip_step
from ngo.layers import ConvPoolReLU2d
from ngo.seeding import torch_stream


@pytest.fixture
def compiled():
    return kernels._compiled()


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """The user's cache in a folder of the test's own, and nothing loaded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernels._library.cache_clear()
    yield tmp_path / "ngo"
    kernels._library.cache_clear()


def test_the_kernels_are_there():
    assert kernels.available()


@settings(max_examples=60, deadline=None)
@given(
    b=st.integers(1, 40),
    channels=st.integers(1, 7),
    out=st.integers(1, 11),
    k=st.sampled_from(kernels.KERNEL_SIZES),
    h=st.integers(1, 8),
    w=st.integers(1, 8),
    seed=st.integers(0, 2**31),
)
def test_convolution_pooling_relu_and_slopes_are_torchs(b, channels, out, k, h, w, seed):
    """Whole numbers, so that sums are exact and ties are many; odd sizes, of which pooling leaves
    out the last row or column.
    """
    generator = torch_stream(seed, "test")

    def whole(*shape):
        return torch.randint(-3, 4, shape, generator=generator).float()

    x, weight, bias = whole(b, channels, k + h, k + w), whole(out, channels, k, k), whole(out)
    leaves = [tensor.requires_grad_() for tensor in (x.clone(), weight.clone(), bias.clone())]
    expected = F.relu(F.max_pool2d(F.conv2d(*leaves), 2))
    slope = whole(*expected.shape)

    last = x.movedim(0, -1).contiguous()
    y, which = kernels.conv_pool_relu(last, weight, bias)
    assert torch.equal(y.movedim(-1, 0), expected)
    last_slope = slope.movedim(0, -1).contiguous()
    dx, dw, db = kernels.conv_pool_relu_backward(last, weight, which, last_slope, of_input=True)
    wanted = torch.autograd.grad((slope * expected).sum(), leaves)
    for ours, theirs in zip((dx.movedim(-1, 0), dw, db), wanted, strict=True):
        assert torch.equal(ours, theirs)
    nothing, *same = kernels.conv_pool_relu_backward(
        last, weight, which, last_slope, of_input=False
    )
    assert nothing is None
    assert torch.equal(same[0], dw)
    assert torch.equal(same[1], db)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_pooled_as_torch_does(value):
    x = torch.randn(3, 2, 10, 10, generator=torch_stream(0, "test"))
    x[1, 0, 4, 5] = value
    layer = ConvPoolReLU2d(2, 4, 3)
    expected = F.relu(F.max_pool2d(F.conv2d(x, layer.weight, layer.bias), 2))
    assert torch.allclose(layer(x), expected, atol=1e-5, equal_nan=True)
    assert not expected.isfinite().all()


def pulls(z, e):
    """What a worker at 0 is pulled by, from workers at ``z``."""
    X = torch.stack([torch.zeros_like(z), z])
    new = torch.empty_like(X)
    W = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    kernels.gossip(X, torch.zeros_like(X), new, W, 1.0, e, ctypes.c_int64())
    assert torch.equal(new[0], -new[1]) or not new.isfinite().all()
    return new[0]


@pytest.mark.parametrize("e", [-0.5, 0.25, 0.5, 0.75, 1.5, 3.0])
def test_powers_are_exact_to_a_few_units_of_the_last_digit(e):
    generator = torch_stream(0, "test")
    sizes = 2.0 ** torch.linspace(-120, 120, 20_001, dtype=torch.float64)
    z = (sizes * torch.randn(20_001, generator=generator)).float()
    expected = z.double().abs() ** e * z.sign()
    fits = (expected.abs() > 2.0**-126) & (expected.abs() < 2.0**127) & (z.abs() > 2.0**-126)
    assert fits.sum() > 5_000
    error = (pulls(z, e).double() / expected - 1).abs()
    assert error[fits].max() < 3e-7


def test_powers_of_special_numbers():
    z = torch.tensor([0.0, -0.0, 1.0, -1.0, 1e-42, math.inf, -math.inf, math.nan])
    for e in (-0.5, 0.0, 0.8, 2.0):
        found = pulls(z, e)
        assert found[:4].tolist() == [0, 0, 1, -1]
        assert math.isfinite(found[4])
        assert found[4] >= 0
        assert found[5:7].tolist() == [math.inf, -math.inf]
        assert found[7].isnan()
    assert pulls(torch.tensor([3.0, -0.2, 1e-30]), 0.0).tolist() == [1, -1, 1]
    assert pulls(torch.tensor([1e-20, 1e20]), 3.0).tolist() == [0, math.inf]


def test_numbers_without_a_leading_1_are_left_to_others():
    """Some flags of compilers switch them off for the whole process."""
    assert kernels.available()
    assert torch.tensor(2.0**-126) * 0.5 > 0


def test_compiled_once_and_kept_by_source_flags_and_processor(compiled, elsewhere, monkeypatch):
    made = []
    copy = partial(shutil.copyfile, compiled)  # in place of a compiler
    monkeypatch.setattr(kernels, "_compile", lambda path: made.append(copy(path)))
    for _ in range(2):
        assert kernels.build() == compiled.stem
        kernels._library.cache_clear()
    assert len(made) == 1
    monkeypatch.setattr(kernels, "_processor", lambda: "another")
    assert kernels.build() != compiled.stem
    assert len(made) == 2
    assert len(list(elsewhere.glob("*.so"))) == 2
    assert not list(elsewhere.glob("*.lock"))


def test_without_a_compiler_torch_does_it(elsewhere, monkeypatch, capsys):
    def fails(path):
        raise subprocess.CalledProcessError(1, "zig")

    monkeypatch.setattr(kernels, "_compile", fails)
    assert not kernels.available()
    assert kernels.build() is None
    assert not list(elsewhere.iterdir())
    assert capsys.readouterr().err.startswith("ngo: kernels.c was not compiled")
    layer = ConvPoolReLU2d(2, 4, 3)
    x = torch.randn(3, 2, 10, 10, generator=torch_stream(0, "test"))
    X = torch.randn(2, 50, generator=torch_stream(1, "test"))
    W = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
    slow = layer(x), gossip_step(X, W, 0.1, 0.7)
    assert capsys.readouterr().err == ""  # said once
    monkeypatch.undo()
    kernels._library.cache_clear()
    assert kernels.available()
    for ours, theirs in zip((layer(x), gossip_step(X, W, 0.1, 0.7)), slow, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
