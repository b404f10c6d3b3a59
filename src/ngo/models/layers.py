"""Layers that draw from their worker's generator; a compiled layer; frozen layers; layers in a row;
and one module for all workers at once, under ``torch.func.vmap``.

vmap cannot draw from several generators, and supports only torch's operations. So a forward pass
records what the random layers draw. The draws for all workers are made outside vmap, and replayed
inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call
from torch.nn import functional as F

from ngo.common.seeding import torch_stream
from ngo.native.build import available
from ngo.native.card_streams import CardStreams
from ngo.native.threads import SIZE, call

#: The sides of kernels for which convolutions before pooling are compiled.
KERNEL_SIZES = (3, 5)

# Elements of one row of a tile of such a convolution's output. A tile of this size and its inputs
# fit into a core's first-level cache.
TILE = 512


class ConvPoolReLU2d(nn.Conv2d):
    """Conv2d, the maximum of each 2 × 2 block, and ReLU. Takes the arguments of Conv2d.

    On a CPU, a convolution without padding, stride, dilation and groups uses the compiled kernels.
    Its output has the batch as the last dimension in memory. Everything else uses torch's
    operations; so does vmap, which supports no others.
    """

    # Whether vmap trains all convolutions on a GPU by products with patches, which are not grouped.
    patches = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``[b, in, h, w]`` to ``[b, out, (h − k + 1) // 2, (w − k + 1) // 2]``."""
        if self._can_use_kernels(x):
            return _ConvPoolReLU.apply(x, self.weight, self.bias)
        return F.relu(F.max_pool2d(super().forward(x), 2))

    def _can_use_kernels(self, x: torch.Tensor) -> bool:
        k, p = plain_kernel(self)
        return (
            (k in KERNEL_SIZES and p == 0 and self.bias is not None)
            and (x.dim() == 4 and x.shape[1] == self.in_channels)
            and min(len(x), *(side - k for side in x.shape[2:])) > 0  # 2 × 2 outputs or more
            and all(y.is_cpu and y.dtype == torch.float32 for y in (x, self.weight, self.bias))
            and not torch.is_autocast_enabled("cpu")
            and available()
        )


class ViewedConv2d(nn.Conv2d):
    """Conv2d with contiguous outputs, which have views, though its kernels' channels are last."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The output of Conv2d."""
        return super().forward(x).contiguous()


def convolved(layer: nn.Conv2d, x: torch.Tensor) -> torch.Tensor:
    """The layer's convolution; in training on a GPU by patches.

    Dilation, groups, and padding ``same`` or with other numbers than 0 have none.
    """
    padding: Any = (0, 0) if layer.padding == "valid" else layer.padding
    plain = layer.groups == 1 and layer.dilation == (1, 1) and layer.padding_mode == "zeros"
    trained = ConvPoolReLU2d.patches and layer.training and x.is_cuda and x.dim() == 4
    if not (trained and plain) or padding == "same":
        return nn.Conv2d.forward(layer, x)
    return convolved_by_patches(x, layer.weight, layer.bias, layer.stride, padding)


def convolved_and_pooled(layer: ConvPoolReLU2d, x: torch.Tensor) -> torch.Tensor:
    """The same of a ``ConvPoolReLU2d``."""
    return F.relu(F.max_pool2d(convolved(layer, x), 2))


#: What takes the forward passes of layers under vmap.
UNDER_VMAP = {nn.Conv2d: convolved, ConvPoolReLU2d: convolved_and_pooled}


def convolved_by_patches(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
) -> torch.Tensor:
    """``conv2d`` as a product with all patches of the images.

    Under vmap over weights, that is a batched product, where conv2d becomes a grouped convolution,
    which takes many times longer on a GPU (pytorch/pytorch issues 70954 and 73764).
    """
    x = F.pad(x, [padding[1]] * 2 + [padding[0]] * 2).movedim(1, -1)
    for dim in (1, 2):  # rows, then columns
        k = weight.shape[dim + 1]
        every = (*[slice(None)] * dim, slice(None, None, stride[dim - 1]))
        size = x.shape[dim] - k + 1
        x = torch.cat([x.narrow(dim, i, size)[every] for i in range(k)], -1)
    return F.linear(x, weight.permute(0, 3, 2, 1).flatten(1), bias).movedim(-1, 1)


def plain_kernel(layer: nn.Conv2d) -> tuple[int, int]:
    """The sides of square kernels and of padding by zeros, without strides and groups; zeros for
    other convolutions.
    """
    (k, width), given = layer.kernel_size, layer.padding
    plain = k == width and layer.padding_mode == "zeros" and layer.groups == 1
    plain &= layer.stride == layer.dilation == (1, 1) and (given != "same" or k % 2 == 1)
    same: dict[Any, Any] = {"same": (k // 2, k // 2), "valid": (0, 0)}
    p, other = same.get(given, given)
    return (k, int(p)) if plain and p == other else (0, 0)


class _ConvPoolReLU(torch.autograd.Function):
    """A convolution of images ``[b, channels, h, w]``, 2 × 2 max pooling and ReLU, compiled.

    The compiled code has the batch as the last dimension and the kernels' channels last. Beside the
    output it keeps the place of the maximum in each window, uint8, and 4 where the output is 0. A
    gradient of 0 contributes nothing, even where the images or the kernels are not finite (in
    torch, 0 times infinity is NaN).
    """

    @staticmethod
    def forward(ctx, x, weight, bias):
        images, taps = to_batch_last(x), weight.movedim(1, -1).contiguous()
        (channels, h, w, b), (out, k, *_) = images.shape, taps.shape
        y = images.new_empty(out, (h - k + 1) // 2, (w - k + 1) // 2, b)
        places = torch.empty_like(y, dtype=torch.uint8)
        ctx.sizes = b, channels, h, w, out, k
        ctx.save_for_backward(images, taps, places)
        tile = max(1, TILE // b)
        tensors = images, taps, bias.contiguous(), y, places, y.new_empty(4 * out * tile * b)
        call("ngo_conv_pool_relu", *tensors, tile, *ctx.sizes, 1)
        return y.movedim(-1, 0)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        images, taps, places = ctx.saved_tensors
        dx = torch.empty_like(images) if ctx.needs_input_grad[0] else None
        dw, db = torch.empty_like(taps), taps.new_empty(len(taps))
        size = call("ngo_conv_pool_relu_backward_workspace", *ctx.sizes, result=SIZE)
        own = images, taps, places, to_batch_last(gradient)
        call("ngo_conv_pool_relu_backward", *own, dx, dw, db, dw.new_empty(size), *ctx.sizes)
        return dx if dx is None else dx.movedim(-1, 0), dw.movedim(-1, 1), db


def to_batch_last(x: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor with the first dimension of ``x`` moved to the end."""
    return x.movedim(0, -1).contiguous()


# A worker's random stream: on a GPU, those of a population's workers are drawn together.
Stream = torch.Generator | CardStreams

# Draws a tensor from a generator, or one for each of some streams on a GPU.
Sample = Callable[[Stream], torch.Tensor]

# Where a random layer has its numbers from: the generator and what draws them → the numbers.
Source = Callable[[Stream, Sample], torch.Tensor]


def draw(generator: Stream, sample: Sample) -> torch.Tensor:
    """Draw from the generator."""
    return sample(generator)


class RandomLayer(nn.Module):
    """A layer that draws random numbers in training, from its worker's generator.

    ``source(generator, sample)`` returns the numbers. It is ``draw``, but while draws are recorded
    or replayed.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator: Stream = generator
        self.source: Source = draw


class Dropout(RandomLayer):
    """Dropout. With ``channels`` it drops whole channels of ``[b, c, …]``, as Dropout2d does."""

    def __init__(
        self, generator: torch.Generator, probability: float = 0.5, *, channels: bool = False
    ) -> None:
        super().__init__(generator)
        self.p, self.channels = probability, channels

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop entries or channels of ``x`` in training; return ``x`` in evaluation."""
        if not self.training:
            return x
        keep = 1 - self.p
        shape = (*x.shape[:2], *[1] * (x.dim() - 2)) if self.channels else x.shape

        def mask(generator: Stream) -> torch.Tensor:
            if isinstance(generator, CardStreams):
                return ((generator.uniform(shape) < keep) * (1 / (keep or 1))).to(x.dtype)
            empty = torch.empty(shape, dtype=x.dtype, device=generator.device)
            return empty.bernoulli_(keep, generator=generator).div_(keep or 1)

        scale = self.source(self.generator, mask)
        return x * (to_batch_last(scale).movedim(-1, 0) if x.stride()[:1] == (1,) else scale)


class DropoutOfUser(Dropout, nn.Dropout):
    """It stands for a user's, whose code may look for its type, or for its name."""


class Dropout2dOfUser(Dropout, nn.Dropout2d):
    """It stands for a user's, whose code may look for its type."""


#: By torch's type of dropout, what stands for it, and whether it drops channels.
DROPOUTS_OF_USER = {nn.Dropout: (DropoutOfUser, False), nn.Dropout2d: (Dropout2dOfUser, True)}


def with_own_dropout(root: nn.Module, generator: Stream) -> None:
    """Replace torch's dropout layers by the package's, which draw from ``generator``."""
    modules: list[Any] = list(root.modules())
    new: dict[nn.Module | None, Dropout] = {}
    for layer in modules:
        if type(layer) in DROPOUTS_OF_USER and 0 < layer.p < 1:
            kind, channels = DROPOUTS_OF_USER[type(layer)]
            new[layer] = kind(generator, layer.p, channels=channels)
    for module in modules:  # unlike named_children, _modules has a layer under each of its names
        module._modules.update({k: new[x] for k, x in module._modules.items() if x in new})


class VAE(RandomLayer):
    """Variational autoencoder: a Gaussian code ``[b, latent]`` per image, and a decoder of codes.

    ``encoder`` maps pixels in [0, 1] to ``[b, 2 · latent]``: the means, then the log-variances.
    ``decoder`` maps codes to the logits of the likelihood.

    In evaluation, the noise of each batch comes from the stream (0, "elbo") on the CPU. It is the
    same for every model, device and batch.
    """

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module, latent: int, generator: torch.Generator
    ) -> None:
        super().__init__(generator)
        self.encoder = encoder
        self.decoder = decoder
        self.latent = latent

    def encode(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and log-variance of the codes of ``x``, ``[b, latent]`` each."""
        mean, log_variance = self.encoder(x).split(self.latent, 1)
        return mean, log_variance

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Logits of the images with the codes ``z``, ``[b, latent]``."""
        return self.decoder(z)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits of one random code per image of ``x``; the codes' mean and log-variance."""
        mean, log_variance = self.encode(x)

        def noise(generator: Stream) -> torch.Tensor:
            if isinstance(generator, CardStreams):
                return generator.normal(mean.shape).to(mean.dtype)
            return torch.randn(
                mean.shape, generator=generator, dtype=mean.dtype, device=generator.device
            )

        if self.training:
            drawn = self.source(self.generator, noise)
        else:
            drawn = noise(torch_stream(0, "elbo"))
        code = mean + (log_variance / 2).exp() * drawn.to(mean.device)
        return self.decode(code), mean, log_variance


def fully_connected(*sizes: int) -> list[nn.Module]:
    """Linear layers from each size to the next, with ReLU between them."""
    layers = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.ReLU())]
    return layers[:-1]


HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")

#: Special methods of a user's class that don't decide which layers are called, and how.
HARMLESS = {f"__{x}__" for x in ("init", "new", "del", "hash", "repr", "str", "dir", "deepcopy")}
HARMLESS |= {f"__{x}__" for x in ("copy", "reduce", "reduce_ex", "getstate", "setstate")}


def of_torch(kind: type) -> bool:
    """Whether this is a class of torch."""
    return kind.__module__.startswith("torch.")


def unchanged(layer: nn.Module) -> bool:
    """Whether calls of the layer are the forward pass of its class, with the layers it has."""
    kinds = [kind for kind in type(layer).__mro__ if not of_torch(kind)]
    own = [pair for kind in kinds[:-1] for pair in vars(kind).items()]
    special = {
        x for x, y in own if x[:2] == x[-2:] == "__" and isinstance(y, FunctionType | classmethod)
    }
    decides = special - HARMLESS or any(name in ("train", "eval") for name, _ in own)
    hooks = any(getattr(layer, name) for name in HOOKS)
    return not (decides or hooks or "forward" in vars(layer))


class Row(NamedTuple):
    """Layers that a forward pass calls one after another."""

    shape: Sequence[int]  # of a sample of the input
    layers: list[nn.Module]
    facts: list[Any]  # of the module


def facts_of(module: nn.Module) -> list[Any]:
    """What other code could change: a module's parts, their functions, and if all train or none."""
    parts = [*module.modules()]
    users = [x for x in parts if not type(x).__module__.startswith(("torch.", "ngo."))]
    own = [(name, x) for part in users for name, x in vars(part).items() if callable(x)]
    functions = [(name, x) for name, x in own if name != "forward"]
    return [parts[1:], functions, all(x.training == module.training for x in parts)]


def row_of(module: nn.Module) -> Row | None:
    """The row of layers that the module was found to be."""
    return vars(module).get("row_of_layers")


def hooked(root: nn.Module) -> list[str]:
    """The names of parameters that have hooks of their own, which copies and vmap leave out."""
    named = root.named_parameters()
    return [name for name, x in named if x._backward_hooks or x._post_accumulate_grad_hooks]


def owned(root: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Each layer's buffers and parameters: a tied one under each of its names."""
    for prefix, layer in root.named_modules():
        yield from layer.named_buffers(prefix, recurse=False, remove_duplicate=False)
        yield from layer.named_parameters(prefix, recurse=False, remove_duplicate=False)


def called(module: nn.Module, tensors: Mapping[str, torch.Tensor], *inputs: torch.Tensor) -> Any:
    """The module's output with other tensors, which tied ones take by the first of their names.

    ``functional_call`` by itself would leave them in a layer that the module has twice.
    """
    first: dict[int, str] = {}
    names = {name: first.setdefault(id(tensor), name) for name, tensor in owned(module)}
    given = {name: tensors[known] for name, known in names.items() if known in tensors}
    return functional_call(module, given, inputs, tie_weights=False)


def channels_last(root: nn.Module) -> nn.Module:
    """The module, whose convolutions store their kernels with the channels last.

    In this layout, convolution and pooling are fastest on a CPU.
    """
    for layer in root.modules():
        weight = layer._parameters.get("weight")  # not where it is computed of others
        if weight is not None and isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            weight.data = weight.data.clone(memory_format=torch.channels_last)
    return root


@contextmanager
def recorded(module: nn.Module, samples: list[Sample]) -> Iterator[None]:
    """Append the module's draws in this block to ``samples``, in order.

    The workers' generators do not advance.
    """

    def record(generator: Stream, sample: Sample) -> torch.Tensor:
        samples.append(sample)
        return sample(torch.Generator(generator.device))

    with _drawing_from(module, record):
        yield


@contextmanager
def replayed(module: nn.Module, values: Iterable[torch.Tensor]) -> Iterator[None]:
    """Return ``values``, in order, for the module's draws in this block."""
    remaining = iter(values)
    with _drawing_from(module, lambda generator, sample: next(remaining)):
        yield


@contextmanager
def _drawing_from(module: nn.Module, source: Source) -> Iterator[None]:
    """Random layers draw from ``source`` in this block, and no layer is compiled."""
    with ExitStack() as restoring:
        for layer in module.modules():
            if isinstance(layer, RandomLayer):
                layer.source = source
                restoring.callback(setattr, layer, "source", draw)
            elif type(layer) in UNDER_VMAP:
                vars(layer)["forward"] = partial(UNDER_VMAP[type(layer)], layer)
                restoring.callback(vars(layer).pop, "forward", None)
        yield
