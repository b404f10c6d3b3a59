"""The gradients of ``conv_pool_relu``, compiled from ``conv_pool_relu_backward.c``."""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.native.arguments import POINTER, SIZE, check_tensor, pointers
from ngo.native.build import function
from ngo.native.conv_pool_relu import sizes_of

BACKWARD = [*[POINTER] * 8, *[SIZE] * 6]


def conv_pool_relu_backward(
    x: torch.Tensor,
    weight: torch.Tensor,
    which: torch.Tensor,
    gradient: torch.Tensor,
    *,
    of_input: bool,
) -> tuple[torch.Tensor | None, torch.Tensor, torch.Tensor]:
    """The gradients of input, weight and bias, given the output's ``gradient``.

    The input's is None unless ``of_input``. ``which`` is the second result of ``conv_pool_relu``.
    A gradient of 0 contributes nothing, even where ``x`` or ``weight`` is not finite (in torch,
    0 times infinity is NaN).
    """
    channels, h, w, b, out, k = sizes_of(x, weight)
    pooled = (out, (h - k + 1) // 2, (w - k + 1) // 2, b)
    check_tensor("which", which, pooled, torch.uint8)
    check_tensor("gradient", gradient, pooled)
    dx = x.new_empty(x.shape) if of_input else None
    dw, db = x.new_empty(weight.shape), x.new_empty(out)
    sizes = b, channels, h, w, out, k
    count = function("ngo_conv_pool_relu_backward_workspace", [SIZE] * 6, SIZE)(*sizes)
    workspace = x.new_empty(count)
    function("ngo_conv_pool_relu_backward", BACKWARD)(
        *pointers(x, weight, which, gradient, dx, dw, db, workspace), *sizes
    )
    return dx, dw, db
