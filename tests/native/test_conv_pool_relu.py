"""The kernels of convolution, pooling and ReLU, against torch and float64."""

import math
import platform

import pytest
import torch
from torch.nn import functional as F

from ngo.common.seeding import torch_stream
from ngo.native import build
from ngo.native.conv_pool_relu import KERNEL_SIZES, conv_pool_relu, conv_pool_relu_backward

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_are_pooled_as_by_torch(value):
    generator = torch_stream(0, "test")
    x = torch.randn(3, 2, 10, 10, generator=generator)
    x[1, 0, 4, 5] = value
    weight = torch.randn(4, 2, 3, 3, generator=generator)
    bias = torch.randn(4, generator=generator)
    expected = F.relu(F.max_pool2d(F.conv2d(x, weight, bias), 2))
    y, _ = conv_pool_relu(x.movedim(0, -1).contiguous(), weight.movedim(1, -1).contiguous(), bias)
    assert torch.allclose(y.movedim(-1, 0), expected, atol=1e-5, equal_nan=True)
    assert not expected.isfinite().all()


GENERATOR = torch_stream(0, "test")


@pytest.fixture(params=["native", "x86-64-v3"])
def processor(request, monkeypatch):
    """Kernels for this processor, and for one with vectors of 256 bits."""
    if request.param != "native":
        if platform.machine() != "x86_64":
            pytest.skip("vectors of x86-64")
        monkeypatch.setenv("NGO_MARCH", request.param)
    build.library.cache_clear()
    yield
    build.library.cache_clear()


def integers(*shape):
    return torch.randint(-3, 4, shape, generator=GENERATOR).float()


def normal(*shape):
    return torch.randn(shape, generator=GENERATOR)


def random_layer(number, draw=normal):
    """Batch-last images, kernels with the channels last, and the number of outputs."""
    b, out = 1 + number % 37, 1 + number % 11
    channels, k = (1, 2, 3, 6, 10, 16, 19, 33)[number % 8], KERNEL_SIZES[number // 8 % 2]
    h, w = k + 1 + number % 5, k + 1 + number // 5 % 7
    return draw(channels, h, w, b), draw(out, k, k, channels), draw(out)


def sparse(gradient):
    """The gradient with about a quarter of the samples of each channel dropped."""
    return gradient * (torch.rand(len(gradient), 1, 1, gradient.shape[-1]) > 0.25)


def exact(x, weight, which, gradient):
    """The gradients of x, weight and bias in float64, given the winners."""
    h, w = (x.shape[i] - weight.shape[1] + 1 for i in (1, 2))
    of_pooled = gradient.double().movedim(-1, 0)
    of_convolution = x.new_zeros(x.shape[-1], len(weight), h, w, dtype=torch.float64)
    for place in range(4):
        corner = of_convolution[:, :, place // 2 : h // 2 * 2 : 2, place % 2 : w // 2 * 2 : 2]
        corner += torch.where(which.movedim(-1, 0) == place, of_pooled, 0)
    leaves = [x.double().movedim(-1, 0).requires_grad_()]
    leaves += [weight.double().movedim(-1, 1).requires_grad_()]
    leaves += [torch.zeros(len(weight), dtype=torch.float64, requires_grad=True)]
    dx, dw, db = torch.autograd.grad(F.conv2d(*leaves), leaves, of_convolution)
    return dx.movedim(0, -1), dw.movedim(1, -1), db


@pytest.mark.parametrize("number", range(0, 4000, 171))
def test_outputs_and_gradients_equal_torchs(processor, number):
    """On integers, so that sums are exact and ties frequent. Where a side of the convolution's
    output is odd, pooling ignores the last row or column.
    """
    x, weight, bias = random_layer(number, integers)
    leaves = [x.movedim(-1, 0).clone(), weight.movedim(-1, 1).clone(), bias.clone()]
    expected = F.relu(F.max_pool2d(F.conv2d(*(leaf.requires_grad_() for leaf in leaves)), 2))
    gradient = integers(*expected.shape)
    y, which = conv_pool_relu(x, weight, bias)
    assert torch.equal(y.movedim(-1, 0), expected)
    arguments = x, weight, which, gradient.movedim(0, -1).contiguous()
    dx, dw, db = conv_pool_relu_backward(*arguments, of_input=True)
    wanted = torch.autograd.grad((gradient * expected).sum(), leaves)
    for ours, theirs in zip((dx.movedim(-1, 0), dw.movedim(-1, 1), db), wanted, strict=True):
        assert torch.equal(ours, theirs)
    nothing, *same = conv_pool_relu_backward(*arguments, of_input=False)
    assert nothing is None
    assert torch.equal(same[0], dw)
    assert torch.equal(same[1], db)


def test_gradients_are_exact_to_rounding(processor):
    """Each is a sum: its error is at most some units of rounding of the sum of absolute terms."""
    for number in range(0, 1500, 4):
        x, weight, bias = random_layer(number)
        y, which = conv_pool_relu(x, weight, bias)
        gradient = sparse(normal(*y.shape))
        ours = conv_pool_relu_backward(x, weight, which, gradient, of_input=True)
        theirs = exact(x, weight, which, gradient)
        absolute = exact(x.abs(), weight.abs(), which, gradient.abs())
        for mine, wanted, size in zip(ours, theirs, absolute, strict=True):
            assert ((mine - wanted).abs() <= 1e-6 * size).all(), number
