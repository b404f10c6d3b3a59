"""Layers of modules that are no chains, by compiled code: linear ones, and group normalization.

Each is torch's where it can't be taken, or would not be faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ngo.native.threads import call

#: The least multiplications of a linear layer, and the most inputs.
LEAST_PRODUCTS, MOST_INPUTS = 2**21, 2**11

Maybe = torch.Tensor | None


@contextmanager
def operations(module: nn.Module) -> Iterator[None]:
    """Within it, compiled code takes the module's layers that it knows."""
    layers = [x for x in module.modules() if type(x) in TAKEN and "forward" not in vars(x)]
    for layer in layers:
        vars(layer)["forward"] = partial(TAKEN[type(layer)], layer)
    try:
        yield
    finally:
        for layer in layers:
            del vars(layer)["forward"]


class _Taken(torch.autograd.Function):
    """An operation ``ngo_take_…``; derivatives of its gradients are torch's."""

    @staticmethod
    def forward(
        ctx: Any, plain: Callable[..., Any], name: str, out: int, sizes: Any, *tensors: Any
    ) -> torch.Tensor:
        """The output of ``plain``, ``out`` wide or, if 0, like the input.

        The first of ``sizes`` is that of the memory.
        """
        x, (work, *ctx.sizes) = tensors[0], sizes
        y = x.new_empty(*x.shape[:-1], out) if out else torch.empty_like(x)
        ctx.plain, ctx.name, ctx.work = plain, name, torch.empty(work)
        ctx.save_for_backward(*tensors)
        call(f"ngo_take_{name}", *tensors, y, ctx.work, *ctx.sizes)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        tensors, wanted = ctx.saved_tensors, ctx.needs_input_grad[4:]
        if torch.is_grad_enabled():
            asked = [x for x, is_wanted in zip(tensors, wanted, strict=True) if is_wanted]
            outputs = ctx.plain(*tensors)
            each = iter(torch.autograd.grad(outputs, asked, grads, create_graph=True))
            found = [next(each) if is_wanted else None for is_wanted in wanted]
        else:
            pairs = zip(tensors, wanted, strict=True)
            found = [torch.empty_like(x) if is_wanted else None for x, is_wanted in pairs]
            images = ctx.name == "group_norm"
            layout = torch.channels_last if images else torch.contiguous_format
            grad = grads[0].contiguous(memory_format=layout)
            call(f"ngo_take_{ctx.name}_backward", *tensors, grad, ctx.work, *found, *ctx.sizes)
        return None, None, None, None, *found


def _fit(*tensors: Maybe) -> bool:
    """Whether these are float32 on the CPU, and plain: in torch.func they have no memory."""
    try:
        return not torch.is_autocast_enabled("cpu") and all(
            x is None or (x.dtype == torch.float32 and x.is_cpu and x.data_ptr()) for x in tensors
        )
    except RuntimeError:
        return False


def linear(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """The output of the layer."""
    weight, bias, (out, width) = layer.weight, layer.bias, layer.weight.shape
    b = x.numel() // width
    right = weight.requires_grad and weight.is_contiguous() and x.shape[-1] == width <= MOST_INPUTS
    if b * out * width < LEAST_PRODUCTS or not right or not _fit(x, weight, bias):
        return F.linear(x, weight, bias)
    sizes = (width + out) * min(b, 64), b, width, out
    return _Taken.apply(F.linear, "linear", out, sizes, x.contiguous(), weight, bias)


def group_norm(layer: nn.GroupNorm, x: torch.Tensor) -> torch.Tensor:
    """The output of the layer; torch's is slow where the channels of images come last."""

    def plain(x: torch.Tensor, weight: Maybe, bias: Maybe) -> torch.Tensor:
        return F.group_norm(x, layer.num_groups, weight, bias, layer.eps)

    last = x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)
    right = last and not x.is_contiguous() and x.shape[1] == layer.num_channels
    if not right or not _fit(x, layer.weight, layer.bias):
        return plain(x, layer.weight, layer.bias)
    n, channels, height, width = x.shape
    groups = layer.num_groups
    sizes = 2 * n * groups, n, height * width, channels, groups, float(layer.eps)
    return _Taken.apply(plain, "group_norm", 0, sizes, x, layer.weight, layer.bias)


#: By the type of a layer, exactly.
TAKEN: dict[type, Callable[..., Any]] = {nn.Linear: linear, nn.GroupNorm: group_norm}
