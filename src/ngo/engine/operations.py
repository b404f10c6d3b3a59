"""Layers of modules that are no chains, by compiled code: linear, convolutions, normalizations.

Each is torch's where it can't be taken, or would not be faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref
from functools import partial
from itertools import takewhile
from operator import itemgetter
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from ngo.engine.module_chain import READERS, first_layers
from ngo.models.layers import (
    HOOKS,
    ConvPoolReLU2d,
    ViewedConv2d,
    facts_of,
    of_torch,
    plain_kernel,
    row_of,
)
from ngo.native.layer_chain import lone_chain
from ngo.native.threads import SIZE, call

#: The least multiplications of a linear layer, and the most inputs.
LEAST_PRODUCTS, MOST_INPUTS = 2**21, 2**11

#: The same of the linear layers of a chain for a batch.
LEAST_IN_CHAIN = 2**20

#: The least positions of images for batch normalization: torch's is faster with fewer, and exact.
LEAST_POSITIONS = 2**12

CHANNELS_LAST = {"memory_format": torch.channels_last}

Maybe = torch.Tensor | None
Leaves = Sequence[nn.Module]


#: Layers, and what takes their forward passes.
Taken = Sequence[tuple[nn.Module, Callable[..., Any]]]


@contextmanager
def operations(layers: Taken) -> Iterator[None]:
    """Within it, compiled code takes these layers, but for those with a forward of their own."""
    own = [(vars(layer), take) for layer, take in layers if "forward" not in vars(layer)]
    for attributes, take in own:
        attributes["forward"] = take
    try:
        yield
    finally:
        for attributes, _ in own:
            del attributes["forward"]


def layers_of(module: nn.Module) -> Taken:
    """What compiled code takes of the module, for ``operations``."""
    takes = [(x, sequence if row_of(x) else TAKEN.get(type(x))) for x in module.modules()]
    return [(x, _Take(take, x)) for x, take in takes if take]


class _Take(partial[Any]):
    """A forward pass of one input, which may be given by its name."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return super().__call__(*given, *named.values())


#: Memory that nobody uses.
SPARE: list[torch.Tensor] = []


class Memory:
    """Memory of a pass, which others take after it: the system's is slow to come by."""

    def __init__(self, n: int) -> None:
        """At least ``n`` numbers."""
        try:
            self._numbers = SPARE.pop()
        except IndexError:
            self._numbers = torch.empty(0)
        if self._numbers.numel() < n:
            self._numbers = torch.empty(n)

    def __del__(self) -> None:
        SPARE.append(self._numbers)

    def data_ptr(self) -> int:
        """The address of the first number."""
        return self._numbers.data_ptr()


class _Taken(torch.autograd.Function):
    """An operation ``ngo_take_…``; derivatives of its gradients, and many at once, are torch's."""

    @staticmethod
    def forward(
        ctx: Any, plain: Callable[..., Any], name: str, shape: Any, sizes: Any, *tensors: Any
    ) -> torch.Tensor:
        """The output of ``plain``, of this ``shape`` or, if None, like the input.

        The first of ``sizes`` is the memory. The parameters of a chain are one after another in
        memory.
        """
        x, (ctx.work, *ctx.sizes) = tensors[0], sizes
        ctx.layout = CHANNELS_LAST if name in ("group_norm", "winograd") else {}
        y = torch.empty(shape or x.shape, **ctx.layout)
        ctx.plain, ctx.name = plain, name
        ctx.save_for_backward(*tensors)
        ctx.given = 2 if name == "chain" else 3
        ctx.first = tensors[1] if name == "chain" else None  # hooks of saved tensors may copy
        call(f"ngo_take_{name}", *tensors[: ctx.given], y, ctx.work, *ctx.sizes)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        tensors, wanted = ctx.saved_tensors, ctx.needs_input_grad[4:]
        if (again := torch.is_grad_enabled()) or not _fit(*grads):  # of vmap
            asked = [x for x, is_wanted in zip(tensors, wanted, strict=True) if is_wanted]
            with torch.enable_grad(), torch.autocast("cpu", enabled=False):
                outputs = ctx.plain(*tensors)
                each = iter(torch.autograd.grad(outputs, asked, grads, create_graph=again))
            found = [next(each) if is_wanted else None for is_wanted in wanted]
        else:
            found, at = [torch.empty_like(tensors[0]) if wanted[0] else None], 0
            flat = grads[0].new_empty(sum(x.numel() for x in tensors[1:] if x is not None))
            for x, is_wanted in zip(tensors[1:], wanted[1:], strict=True):
                found.append(flat.as_strided(x.shape, x.stride(), at) if is_wanted else None)
                at += x.numel() if is_wanted else 0
            grad = grads[0].contiguous(**ctx.layout)
            own = tensors[: ctx.given] if ctx.first is None else (tensors[0], ctx.first)
            given = *own, grad, ctx.work, *found[: ctx.given], *ctx.sizes
            call(f"ngo_take_{ctx.name}_backward", *given)
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
    weight, bias = layer.weight, layer.bias
    if x.numel() * weight.shape[0] < LEAST_PRODUCTS:
        return F.linear(x, weight, bias)
    (out, width), b = weight.shape, x.numel() // weight.shape[1]
    right = weight.requires_grad and weight.is_contiguous() and x.shape[-1] == width <= MOST_INPUTS
    if not (right and _fit(x, weight, bias)):
        return F.linear(x, weight, bias)
    sizes = torch.empty((width + out) * min(b, 64)), b, width, out
    shape = *x.shape[:-1], out
    return _Taken.apply(F.linear, "linear", shape, sizes, x.contiguous(), weight, bias)


def convolution(layer: nn.Conv2d, x: torch.Tensor) -> torch.Tensor:
    """The output of the layer."""
    weight, bias, (out, width, *sides) = layer.weight, layer.bias, layer.weight.shape
    k, p = plain_kernel(layer)
    fit = [k, k] == sides == [3, 3] and x.dim() == 4 and x.shape[1] == width
    if fit and _fit(x, weight, bias) and _channels_last(weight):
        b, _, h, w = x.shape
        sizes = b, width, h, w, out, p
        if n := call("ngo_winograd_workspace", *sizes, result=SIZE):
            shape, x = (b, out, h + 2 * p - 2, w + 2 * p - 2), x.contiguous(**CHANNELS_LAST)
            how = partial(F.conv2d, padding=p), "winograd", shape, (torch.empty(n), *sizes)
            return _Taken.apply(*how, x, weight, bias)
    return nn.Conv2d.forward(layer, x)


def group_norm(layer: nn.GroupNorm, x: torch.Tensor, relu: bool = False) -> torch.Tensor:
    """The output of the layer; torch's is slow where the channels of images come last."""

    def plain(x: torch.Tensor, weight: Maybe, bias: Maybe) -> torch.Tensor:
        y = F.group_norm(x, layer.num_groups, weight, bias, layer.eps)
        return F.relu(y) if relu else y

    own = layer.weight, layer.bias
    if not (_fit(x, *own) and _channels_last(x) and x.shape[1] == layer.num_channels):
        return plain(x, *own)
    return _normed(plain, layer, x, relu, len(x), layer.num_groups)[0]


def batch_norm(layer: Any, x: torch.Tensor, relu: bool = False) -> torch.Tensor:
    """The output of the layer; torch sums in float32 where the channels of images come last."""

    def plain(x: torch.Tensor, weight: Maybe, bias: Maybe) -> torch.Tensor:
        y = F.batch_norm(x, None, None, weight, bias, True, eps=layer.eps)
        return F.relu(y) if relu else y

    mean, variance, tracked = layer.running_mean, layer.running_var, layer.track_running_stats
    kept = [one is not None for one in (mean, variance, layer.num_batches_tracked)]
    right = layer.training and layer.momentum is not None and kept == [tracked] * 3
    fit = _fit(x, layer.weight, layer.bias, mean, variance) and _channels_last(x)
    count = x.numel() // layer.num_features
    if not (right and fit and x.shape[1] == layer.num_features and count >= LEAST_POSITIONS):
        y = nn.BatchNorm2d.forward(layer, x)
        return F.relu(y) if relu else y
    # As one image of all positions, each of whose channels is a group.
    y, (means, factors) = _normed(plain, layer, x, relu, 1, layer.num_features)
    if tracked:
        found = (factors**-2 - layer.eps).clamp(min=0) * (count / (count - 1))
        mean.lerp_(means, layer.momentum)
        variance.lerp_(found, layer.momentum)
        layer.num_batches_tracked.add_(1)
    return y


def _normed(
    plain: Callable[..., Any], layer: Any, x: torch.Tensor, relu: bool, n: int, groups: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output of ``plain``, which is that of a normalization of n images; their means and
    factors ``[2, n · groups]``.
    """
    memory, least = torch.empty(2, n * groups), 0.0 if relu else -math.inf
    sizes = memory, n, x[0, 0].numel() * len(x) // n, x.shape[1], groups, float(layer.eps), least
    return _Taken.apply(plain, "group_norm", None, sizes, x, layer.weight, layer.bias), memory


def _channels_last(x: torch.Tensor) -> bool:
    """Whether these are images whose channels come last."""
    last = x.dim() == 4 and x.is_contiguous(**CHANNELS_LAST)
    return last and not x.is_contiguous()


#: Layers that are taken with a ReLU after them.
NORMED = (nn.GroupNorm, nn.ReLU), (nn.BatchNorm2d, nn.ReLU)

#: By the type of a layer that a chain, or a normalization, may take: what decides how.
LEAVES = {
    kind: itemgetter("_modules", *getattr(kind, "__constants__", ()))
    for kind in (nn.Conv2d, ViewedConv2d, ConvPoolReLU2d, *READERS)
}
HOOKED = itemgetter(*HOOKS)

#: Of a sequence, by the number of layers that are left and the shape of their input: the facts of
#: the layers, those that a chain takes, their weights, and the chain; None if torch takes a layer.
KNOWN: WeakKeyDictionary[nn.Module, dict[tuple[int, torch.Size], Any]] = WeakKeyDictionary()

#: The shapes, strides and derivatives of a sequence's inputs for which torch takes all layers.
TORCHS: WeakKeyDictionary[nn.Module, set[Any]] = WeakKeyDictionary()


def sequence(layer: Any, x: Any) -> Any:
    """The output of the layers in a row, of which chains take those that they know."""
    known_row, torchs = row_of(layer), TORCHS.setdefault(layer, set())
    of_sample, row, facts = known_row or (None, layer, None)
    given: Any = None
    if type(x) is torch.Tensor:
        given = x.shape, x.stride(), x.requires_grad, x.grad_fn is None, torch.is_grad_enabled()
    others = facts and not (given and given[0][1:] == of_sample and facts == facts_of(layer))
    if others or given in torchs:
        return type(layer).forward(layer, x)
    leaves, known = [*row], KNOWN.setdefault(layer, {})
    count, torchs_own = len(leaves), 0
    ends = [_with_one_layout(x)]
    while leaves:
        fit = type(x) is torch.Tensor and _fit(x)
        if found := fit and _found(leaves, x, known):
            _, taken, weights, chain, shape = found
            b, plain, at = len(x), partial(_plain, taken), byref(chain)
            work = Memory(call("ngo_chain_workspace", at, b, result=SIZE))
            how = plain, "chain", (b, *shape), (work, at, b)
            x = _Taken.apply(*how, x.contiguous(), *weights)
            del leaves[: len(taken)]
        elif (*map(type, leaves[:2]),) in NORMED and all(map(_facts, leaves[:2])):
            x = TAKEN[type(leaves[0])](leaves.pop(0), x, relu=bool(leaves.pop(0)))
        elif type(leaves[0]) is ViewedConv2d and facts and _facts(leaves[0]):
            x = convolution(leaves.pop(0), x)  # no view follows before the end
        else:
            leaf = leaves.pop(0)
            # It may have a shortcut.
            own = not (of_torch(type(leaf)) or row_of(leaf))
            torchs_own += not (own and _with_one_layout(x))
            x = leaf(x)
    ends.append(_with_one_layout(x))
    if torchs_own == count:  # this pass is like those after it
        if given:
            torchs.add(given)
        for end in filter(None, ends):
            end.remove()
    return x.contiguous() if ViewedConv2d in map(type, row) else x


def _with_one_layout(x: Any) -> Any:
    """The hook, if these are images with channels last, that puts their gradients' last, too.

    Gradients of two layouts, as from a shortcut of a block, make the layers before slow.
    """
    images = type(x) is torch.Tensor and x.grad_fn is not None and _fit(x) and _channels_last(x)
    return x.register_hook(_channels_last_again) if images else None


def _channels_last_again(grad: Maybe) -> Maybe:
    """The gradient with channels last, if there is one, and not many at once."""
    return grad if grad is None or not _fit(grad) else grad.contiguous(**CHANNELS_LAST)


def _found(leaves: Leaves, x: torch.Tensor, known: dict[Any, Any]) -> tuple[Any, ...] | None:
    """What ``KNOWN`` has of these layers, brought up to date."""
    place = len(leaves), x.shape
    found = known.get(place, ())
    if found is None:
        return None
    facts = [*takewhile(bool, map(_facts, leaves))]
    if found[:1] != (facts,):
        found = _read(leaves[: len(facts)], facts, x)
        if found or not any(type(leaf) in LEAVES for leaf in leaves[len(facts) :][:1]):
            known[place] = found  # hooks, for example, may go again
    return found


def _facts(leaf: nn.Module) -> Any:
    """What decides how compiled code takes a layer; None if none does."""
    own, kind = vars(leaf), type(leaf)
    forward = own.get("forward")
    if kind not in LEAVES or any(HOOKED(own)) or torch.nn.modules.module._has_any_global_hook():
        return None
    if getattr(forward, "func", forward) is not TAKEN.get(kind):  # the user's own
        return None
    weights = [x for x in own["_parameters"].values() if x is not None]
    if not all(type(x) is nn.Parameter and x.requires_grad for x in weights):
        return None
    return leaf, LEAVES[kind](own), [(id(x), x.data_ptr()) for x in weights]


def _read(leaves: Leaves, facts: list[Any], x: torch.Tensor) -> tuple[Any, ...] | None:
    """What ``KNOWN`` has of these layers."""
    b, shape = len(x), x.shape[1:]
    if not (shape and b and (found := first_layers(leaves, shape, LEAST_IN_CHAIN // b))):
        return None
    count, layers, output_shape = found
    weights = [weight for leaf in leaves[:count] for weight in leaf.parameters(recurse=False)]
    ends = [weight.data_ptr() + weight.nbytes for weight in weights]
    if ends[:-1] != [weight.data_ptr() for weight in weights[1:]]:
        return None
    return facts, leaves[:count], weights, lone_chain(layers, shape), output_shape


def _plain(leaves: Leaves, x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    """The output of the layers with these parameters."""
    rest = iter(weights)
    for leaf in leaves:
        named = {name: next(rest) for name, _ in leaf.named_parameters(recurse=False)}
        x = functional_call(leaf, named, (x,))
    return x


#: By the type of a layer, exactly.
TAKEN: dict[type, Callable[..., Any]] = {
    nn.Linear: linear,
    nn.Conv2d: convolution,
    nn.GroupNorm: group_norm,
    nn.BatchNorm2d: batch_norm,
    nn.Sequential: sequence,
}
