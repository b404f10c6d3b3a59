"""A matrix product on a CPU, compiled from ``product.c``, for few columns."""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.native.arguments import POINTER, SIZE, check_tensor, pointers
from ngo.native.build import function


def matrix_product(
    a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """``a @ b`` plus ``bias`` ``[m]`` for each row, in float32; ``a`` may be a transpose."""
    (m, k), n = a.shape, b.shape[1]
    check_tensor("b", b, (k, n))
    if not (a.is_contiguous() or a.T.is_contiguous()):
        raise ValueError("a or its transpose must be contiguous")
    c = b.new_empty(m, n)
    arguments = [*[POINTER] * 4, *[SIZE] * 5]
    function("ngo_product", arguments)(*pointers(a, b, bias, c), m, n, k, *a.stride())
    return c
