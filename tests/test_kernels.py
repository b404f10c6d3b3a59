import ctypes
import math
import platform
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
from ngo.registry import UserError
from ngo.seeding import torch_stream

pytestmark = pytest.mark.skipif(
    kernels.march() == "none", reason="NGO_MARCH=none: there are no kernels"
)


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


@pytest.mark.parametrize("p", [0.25, 0.5, 0.501, 0.51, 0.6, 0.75, 0.9, 1.2, 1.5, 2])
def test_powers_are_exact_to_a_few_units_of_the_last_digit(p):
    """From the smallest float32 to the largest, against float64."""
    e = 2 * p - 1
    sizes = 2.0 ** torch.linspace(-149, 127.99, 100_001, dtype=torch.float64)
    z = torch.cat([sizes, -sizes]).float()
    expected = z.double().abs() ** e * z.sign()
    found = pulls(z, e).double()
    fits = (expected.abs() > 2.0**-126) & (expected.abs() < 2.0**127.99)
    assert fits.sum() > 50_000
    assert (found / expected - 1)[fits].abs().max() < 3e-7
    small = expected.abs() <= 2.0**-126  # these have fewer digits
    assert torch.allclose(found[small], expected[small], rtol=0, atol=2.0**-148)


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


def test_tensors_that_do_not_fit_are_refused():
    x, weight, bias = torch.zeros(2, 8, 8, 3), torch.zeros(4, 2, 3, 3), torch.zeros(4)
    y, which = kernels.conv_pool_relu(x, weight, bias)
    for arguments in (
        (x[:1], weight, bias),
        (x[:, ::2], weight, bias),
        (x.double(), weight, bias),
        (x.to("meta"), weight, bias),
        (x, weight, bias[:3]),
        (x, weight.double(), bias),
        (x, torch.zeros(4, 2, 3, 2), bias),
        (x, torch.zeros(4, 2, 4, 4), bias),
        (x[:, :2].contiguous(), weight, bias),
    ):
        with pytest.raises(ValueError, match=r"must be a contiguous|kernel size"):
            kernels.conv_pool_relu(*arguments)
    for arguments in ((x, weight, which[:3], y), (x, weight, y, y), (x, weight, which, y[..., :1])):
        with pytest.raises(ValueError, match="must be a contiguous"):
            kernels.conv_pool_relu_backward(*arguments, of_input=True)
    X, W = torch.zeros(3, 50), torch.zeros(3, 3, dtype=torch.float64)
    for states in (
        (X[:2], X, X, W),
        (X, X, X[:, :40].contiguous(), W),
        (X.double(), X, X, W),
        (X, X, X, W.float()),
        (X, X, X, W[:2]),
    ):
        with pytest.raises(ValueError, match="must be a contiguous"):
            kernels.gossip(*states, 0.1, 0.8, ctypes.c_int64())


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
    other = kernels.build()
    monkeypatch.setenv("NGO_MARCH", "yet-another")
    kernels._library.cache_clear()
    assert len({compiled.stem, other, kernels.build()}) == 3
    assert len(made) == len(list(elsewhere.glob("*.so"))) == 3
    assert not list(elsewhere.glob("*.lock"))


def test_a_cache_that_cannot_be_written_is_named(elsewhere, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert not kernels.available()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ngo: kernels.c was not compiled, all will be slower: ")
    assert "the kernels' cache (XDG_CACHE_HOME names another): the folder '" in line
    assert " out: " not in line


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


def test_nothing_is_compiled_where_the_user_says_so(elsewhere, monkeypatch, capsys):
    monkeypatch.setenv("NGO_MARCH", "none")
    assert kernels.build() is None
    assert not elsewhere.exists()
    assert capsys.readouterr().err == ""


def test_a_processor_that_clang_does_not_know_is_named(elsewhere, monkeypatch):
    monkeypatch.setenv("NGO_MARCH", "x86-64-v9")
    with pytest.raises(UserError, match="NGO_MARCH: 'x86-64-v9' is no processor"):
        kernels.available()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="about x86-64's vectors")
def test_vectors_are_as_wide_as_the_processor_has_them(tmp_path, monkeypatch):
    """For this processor clang alone takes half the width."""
    monkeypatch.setenv("NGO_MARCH", "skylake-avx512")
    monkeypatch.setattr(kernels, "FLAGS", [*kernels.FLAGS, "-S"])
    kernels._compile(tmp_path / "kernels.s")
    assert "%zmm" in (tmp_path / "kernels.s").read_text()
