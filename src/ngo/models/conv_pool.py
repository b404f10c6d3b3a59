"""Convolution, 2 × 2 max pooling and ReLU as one layer, compiled on a CPU."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from ngo.native.build import available
from ngo.native.conv_pool_relu import KERNEL_SIZES, conv_pool_relu
from ngo.native.conv_pool_relu_backward import conv_pool_relu_backward


class ConvPoolReLU2d(nn.Conv2d):
    """Conv2d, the maximum of each 2 × 2 block, and ReLU. Takes the arguments of Conv2d.

    On a CPU, a convolution without padding, stride, dilation and groups uses the compiled kernels.
    Its output has the batch as the last dimension in memory. Everything else, second derivatives
    included, uses torch's operations.
    """

    # Whether the kernels may be used: not under vmap, which supports only torch's operations.
    compiled = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``[b, in, h, w]`` to ``[b, out, (h − k + 1) // 2, (w − k + 1) // 2]``."""
        if self._can_use_kernels(x):
            return _ConvPoolReLU.apply(x, self.weight, self.bias)
        return F.relu(F.max_pool2d(super().forward(x), 2))

    def _can_use_kernels(self, x: torch.Tensor) -> bool:
        weight, bias = self.weight, self.bias
        _, channels, k, width = weight.shape
        return (
            self.compiled
            and self.padding in ((0, 0), "valid")
            and self.stride == self.dilation == (1, 1)
            and self.groups == 1
            and k == width
            and k in KERNEL_SIZES
            and bias is not None
            and x.is_cpu
            and weight.is_cpu
            and bias.is_cpu
            and x.dtype == weight.dtype == bias.dtype == torch.float32
            and x.dim() == 4
            and x.shape[1] == channels
            and min(x.shape[2:]) > k  # at least 2 × 2 outputs
            and len(x) > 0
            and not torch.is_autocast_enabled("cpu")
            and available()
        )


class _ConvPoolReLU(torch.autograd.Function):
    """``conv_pool_relu`` on images ``[b, channels, h, w]``."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        batch_last, taps = to_batch_last(x), weight.movedim(1, -1).contiguous()
        y, argmax = conv_pool_relu(batch_last, taps, bias.contiguous())
        # The arguments are saved as well as their copies, so that autograd detects changes to them.
        ctx.save_for_backward(x, weight, bias, batch_last, taps, argmax)
        return y.movedim(-1, 0)

    @staticmethod
    def backward(ctx, gradient):
        *arguments, batch_last, taps, argmax = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives
            return tuple(_torch_gradients(arguments, gradient, ctx.needs_input_grad))
        dx, dw, db = conv_pool_relu_backward(
            batch_last, taps, argmax, to_batch_last(gradient), of_input=ctx.needs_input_grad[0]
        )
        return dx if dx is None else dx.movedim(-1, 0), dw.movedim(-1, 1), db


def _torch_gradients(
    arguments: list[torch.Tensor], gradient: torch.Tensor, needed: tuple[bool, ...]
) -> list[torch.Tensor | None]:
    """The gradients with respect to x, weight and bias, computed by torch's operations."""
    x, weight, bias = views = [tensor.view_as(tensor) for tensor in arguments]
    wanted = [tensor for tensor, need in zip(views, needed, strict=True) if need]
    y = F.relu(F.max_pool2d(F.conv2d(x, weight, bias), 2))
    gradients = iter(torch.autograd.grad(y, wanted, gradient, create_graph=True))
    return [next(gradients) if need else None for need in needed]


def to_batch_last(x: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor with the first dimension of ``x`` moved to the end."""
    return x.movedim(0, -1).contiguous()
