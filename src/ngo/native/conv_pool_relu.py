"""A convolution, 2 × 2 max pooling and ReLU on a CPU, and its gradients, compiled.

All tensors are contiguous and, unless stated otherwise, float32. The layer refuses tensors of other
shapes and types by ValueError; its gradients take what it had.
"""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.native.threads import SIZE, call, check_tensors

KERNEL_SIZES = (3, 5)  # the C files are compiled for these

# Elements of one row of a tile of the convolution's output. A tile of this size and its inputs fit
# into a core's first-level cache.
TILE = 512


def conv_pool_relu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The layer's output, and the place of the maximum in each pooling window.

    The batch is the last dimension: ``x`` is ``[in, h, w, b]``. ``weight`` is ``[out, k, k, in]``,
    with k in KERNEL_SIZES. There is no padding. Both results are
    ``[out, (h − k + 1) // 2, (w − k + 1) // 2, b]``; the places are uint8, and 4 where the output
    is 0.
    """
    (channels, h, w, b), (out, k, *_) = x.shape, weight.shape
    check_tensors((channels, h, w, b), x=x)
    check_tensors((out, k, k, channels), weight=weight)
    check_tensors((out,), bias=bias)
    if k not in KERNEL_SIZES or min(h, w) < k:
        raise ValueError(
            f"kernel size must be one of {KERNEL_SIZES} and at most {min(h, w)}, the smaller side "
            f"of the image; it is {k}"
        )
    y = x.new_empty(out, (h - k + 1) // 2, (w - k + 1) // 2, b)
    which = y.new_empty(y.shape, dtype=torch.uint8)
    tile = max(1, TILE // max(1, b))
    workspace = x.new_empty(4 * out * tile * b)
    tensors = x, weight, bias, y, which, workspace
    call("ngo_conv_pool_relu", *tensors, tile, b, channels, h, w, out, k, 1)
    return y, which


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
    (channels, h, w, b), (out, k, *_) = x.shape, weight.shape
    dx = x.new_empty(x.shape) if of_input else None
    dw, db = x.new_empty(weight.shape), x.new_empty(out)
    sizes = b, channels, h, w, out, k
    workspace = x.new_empty(call("ngo_conv_pool_relu_backward_workspace", *sizes, result=SIZE))
    tensors = x, weight, which, gradient, dx, dw, db, workspace
    call("ngo_conv_pool_relu_backward", *tensors, *sizes)
    return dx, dw, db
