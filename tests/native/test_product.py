import random

import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.native import build
from ngo.native.product import matrix_product

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


def test_products_are_those_of_float64():
    rng = random.Random(0)
    for seed in range(300):
        (m, n, k), generator = (rng.randint(1, 70) for _ in range(3)), torch_stream(seed, "test")
        a = torch.randn(m, k, generator=generator)
        if seed % 2:
            a = a.T.contiguous().T
        b, bias = torch.randn(k, n, generator=generator), torch.randn(m, generator=generator)
        exact, size = a.double() @ b.double(), a.double().abs() @ b.double().abs() + 1
        assert ((matrix_product(a, b) - exact).abs() <= 1e-6 * size).all()
        found = matrix_product(a, b, bias).double() - bias[:, None]
        assert ((found - exact).abs() <= 1e-6 * size + 1e-6).all()


def test_tensors_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="b must be a contiguous"):
        matrix_product(torch.ones(2, 3), torch.ones(4, 2))
    with pytest.raises(ValueError, match="a or its transpose must be contiguous"):
        matrix_product(torch.ones(2, 6)[:, ::2], torch.ones(3, 2))
