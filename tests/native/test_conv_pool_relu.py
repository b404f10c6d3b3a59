import math

import pytest
import torch
from torch.nn import functional as F

from ngo.common.seeding import torch_stream
from ngo.native import build
from ngo.native.conv_pool_relu import conv_pool_relu

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


def test_tensors_that_do_not_fit_are_refused():
    x, weight, bias = torch.zeros(2, 8, 8, 3), torch.zeros(4, 3, 3, 2), torch.zeros(4)
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
