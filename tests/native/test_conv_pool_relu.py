import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from ngo.common.seeding import torch_stream
from ngo.native import build
from ngo.native.conv_pool_relu import KERNEL_SIZES, conv_pool_relu, conv_pool_relu_backward

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


@settings(max_examples=60, deadline=None)
@given(
    b=st.integers(1, 40),
    channels=st.integers(1, 7),
    out=st.integers(1, 11),
    k=st.sampled_from(KERNEL_SIZES),
    h=st.integers(1, 8),
    w=st.integers(1, 8),
    seed=st.integers(0, 2**31),
)
def test_outputs_and_gradients_equal_torchs(b, channels, out, k, h, w, seed):
    """On integers, so that sums are exact and ties frequent. Where a side of the convolution's
    output is odd, pooling ignores the last row or column.
    """
    generator = torch_stream(seed, "test")

    def integers(*shape):
        return torch.randint(-3, 4, shape, generator=generator).float()

    x, weight = integers(b, channels, k + h, k + w), integers(out, channels, k, k)
    bias = integers(out)
    leaves = [tensor.requires_grad_() for tensor in (x.clone(), weight.clone(), bias.clone())]
    expected = F.relu(F.max_pool2d(F.conv2d(*leaves), 2))
    gradient = integers(*expected.shape)

    last = x.movedim(0, -1).contiguous()
    taps = weight.movedim(1, -1).contiguous()
    y, which = conv_pool_relu(last, taps, bias)
    assert torch.equal(y.movedim(-1, 0), expected)
    arguments = last, taps, which, gradient.movedim(0, -1).contiguous()
    dx, dw, db = conv_pool_relu_backward(*arguments, of_input=True)
    wanted = torch.autograd.grad((gradient * expected).sum(), leaves)
    for ours, theirs in zip((dx.movedim(-1, 0), dw.movedim(-1, 1), db), wanted, strict=True):
        assert torch.equal(ours, theirs)
    nothing, *same = conv_pool_relu_backward(*arguments, of_input=False)
    assert nothing is None
    assert torch.equal(same[0], dw)
    assert torch.equal(same[1], db)


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


def test_tensors_that_do_not_fit_are_refused():
    x, weight, bias = torch.zeros(2, 8, 8, 3), torch.zeros(4, 3, 3, 2), torch.zeros(4)
    y, which = conv_pool_relu(x, weight, bias)
    for arguments in (
        (x[:1], weight, bias),
        (x[:, ::2], weight, bias),
        (x.double(), weight, bias),
        (x.to("meta"), weight, bias),
        (x, weight, bias[:3]),
        (x, weight.double(), bias),
        (x, torch.zeros(4, 3, 2, 2), bias),
        (x, torch.zeros(4, 4, 4, 2), bias),
        (x[:, :2].contiguous(), weight, bias),
    ):
        with pytest.raises(ValueError, match=r"must be a contiguous|kernel size must be one of"):
            conv_pool_relu(*arguments)
    for arguments in ((x, weight, which[:3], y), (x, weight, y, y), (x, weight, which, y[..., :1])):
        with pytest.raises(ValueError, match="must be a contiguous"):
            conv_pool_relu_backward(*arguments, of_input=True)
