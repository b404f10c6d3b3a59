"""Modules as chains of layers that the compiled executor knows: read layer by layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch import nn

from ngo.engine.backends import Workers
from ngo.models.layers import (
    KERNEL_SIZES,
    VAE,
    ConvPoolReLU2d,
    Dropout,
    ViewedConv2d,
    draw,
    plain_kernel,
    row_of,
    unchanged,
)
from ngo.models.task import correct, cross_entropy, negative_elbo, squared_error
from ngo.native.build import available
from ngo.native.layer_chain import CONVOLUTIONS, LAYERS, Chain, Layer

#: Activations before which the maximum may be taken.
INCREASING = (
    *(nn.ReLU, nn.Tanh, nn.Sigmoid, nn.LeakyReLU, nn.ELU, nn.CELU, nn.SELU, nn.ReLU6),
    *(nn.Hardtanh, nn.Hardsigmoid, nn.Softplus),
)


class _Other(Exception):
    """The module is not such a chain."""


def _require(right: object) -> None:
    if not right:
        raise _Other


def find_chain(workers: Workers) -> Chain | None:
    """The chain that all workers' modules are; None if they are not one.

    It is a chain if the modules are made of known layers of exactly these types, in float32 on a
    CPU, without hooks and shared parameters, and if the task is a registered one. One function
    builds all modules; two are read.
    """
    X = workers.X
    if not (X.is_cpu and X.dtype == torch.float32 and workers.precision == "float32"):
        return None
    if torch.nn.modules.module._has_any_global_hook() or not available():
        return None
    try:
        pairs = zip(workers.modules, workers.generators, strict=True)
        readers = [_Reader(*pair, workers.input_shape) for pair in islice(pairs, 2)]
        first = readers[0]
        loss = _loss(workers, first)
        _require(len({b"".join(map(bytes, reader.layers)) for reader in readers}) == 1)
    except (_Other, ValueError):
        return None
    return Chain(
        first.layers,
        loss,
        workers.input_shape,
        math.prod(first.shape),
        spread=workers.spread,
        threads=workers.threads,
    )


def _loss(workers: Workers, reader: _Reader) -> str:
    """The name of the task's loss, if it takes the outputs of the layers."""
    task, flat = workers.task, len(reader.shape) == 1 and not reader.is_vae
    images = reader.is_vae and reader.shape == tuple(workers.input_shape)
    for loss, scores, right in (
        (negative_elbo, (None,), images),
        (cross_entropy, (None, correct), flat),
        (squared_error, (None,), flat and not reader.normalised),
    ):
        if task.loss is loss and task.score in scores and right:
            return loss.__name__
    raise _Other


def first_layers(
    leaves: Sequence[nn.Module], shape: Sequence[int], least: int
) -> tuple[int, list[Layer], tuple[int, ...]] | None:
    """As many of the first layers of modules as a chain takes by itself: of how many leaves, the
    layers, and the shape of their output; None where torch is as fast.

    The first one has parameters, and none draws. Where no pooling follows, torch's convolutions are
    faster; linear layers alone need ``least`` parameters.
    """
    for count in range(len(leaves), 0, -1):
        first = nn.Sequential(*leaves[:count])
        try:
            reader = _Reader(first, None, shape)
        except (_Other, ValueError):
            continue
        kinds = [LAYERS[layer.kind] for layer in reader.layers]
        kinds = [kind for kind in kinds if kind != "padding"]
        pooled = kinds.count("conv_pool_relu") + kinds.count("conv_pool")
        enough = pooled or sum(map(torch.numel, first.parameters())) >= least
        right = 2 * pooled + kinds.count("linear") > 1 and kinds.count("convolution") <= pooled
        right &= kinds[0] in (*CONVOLUTIONS, "linear") and not reader.normalised
        return (count, reader.layers, reader.shape) if right and enough else None
    return None


class _Reader:
    """Reads the layers of a module; raises _Other at what is not known."""

    def __init__(
        self, module: nn.Module, generator: torch.Generator | None, input_shape: Sequence[int]
    ) -> None:
        self.shape = tuple(input_shape)  # of one sample, after the layers so far
        self.layers: list[Layer] = []
        self.is_vae = type(module) is VAE
        self.normalised = False  # whether the last layer was a LogSoftmax
        self._generator = generator
        self._starts: dict[int, int] = {}  # of each parameter in a row of X
        self._buffers: dict[int, int] = {}  # of each buffer in a row of buffers
        self._drawn = 0
        total = 0
        for parameter in module.parameters():
            _require(parameter.requires_grad and parameter.dtype == torch.float32)
            _require(not (parameter._backward_hooks or parameter._post_accumulate_grad_hooks))
            self._starts[id(parameter)] = total
            total += parameter.numel()
        start = 0
        for buffer in module.buffers():
            self._buffers[id(buffer)] = start
            start += buffer.numel() * buffer.is_floating_point()
        # Those of a part of a module have been asked, and may have a compiled forward pass.
        _require(generator is None or all(map(unchanged, module.modules())))
        self._read(module)
        # No parameter, or one, or a buffer, that no layer has.
        _require(total and not self._starts and not self._buffers)

    def _read(self, module: nn.Module) -> None:
        found: Iterator[Any] = leaves_of(module)
        leaves = [leaf for leaf in found if type(leaf) not in NOTHING or vars(leaf).get("p")]
        while leaves:
            _require(not self.normalised)
            leaf = leaves.pop(0)
            if type(leaf) is ConvPoolReLU2d:
                leaves = [nn.MaxPool2d(2), nn.ReLU(), *leaves]
            if isinstance(leaf, nn.Conv2d) and type(leaf) in KINDS:
                pools = [k for k, layer in enumerate(leaves[:2]) if _is_halving(layer)]
                kinds = [type(layer) for layer in leaves[:2]]
                fit = leaf.bias is not None and leaf.kernel_size[0] in KERNEL_SIZES
                if fit and pools and (pools[0] == 0 or kinds[0] in INCREASING):
                    del leaves[pools[0]]  # the maximum comes first: it changes nothing
                    if nn.ReLU in kinds:
                        del leaves[0]
                    self._conv(leaf, "conv_pool_relu" if nn.ReLU in kinds else "conv_pool")
                else:
                    self._conv(leaf, "convolution")
            else:
                _require(type(leaf) in READERS)
                READERS[type(leaf)](self, leaf)

    def _add(self, kind: str, shape: tuple[int, ...], **fields: float) -> None:
        """Append a layer whose output for a sample has this shape."""
        size = self.shape if len(self.shape) == 3 else (math.prod(self.shape), 1, 1)
        sizes = dict(zip(("input", "h", "w"), size, strict=True))
        self.layers.append(Layer(LAYERS.index(kind), **sizes, drawn=self._drawn, **fields))
        self._drawn += self.layers[-1].draws
        self.shape = shape

    def _parameters(self, layer: Any) -> dict[str, int]:
        """Where the layer's weight and bias start; each parameter is taken once."""
        try:
            weight = self._starts.pop(id(layer.weight))
            bias = -1 if layer.bias is None else self._starts.pop(id(layer.bias))
        except KeyError:
            raise _Other from None
        return {"weight": weight, "bias": bias}

    def _conv(self, layer: nn.Conv2d, kind: str) -> None:
        """Add a convolution, with 2 × 2 pooling or without; padding is a layer of its own."""
        k, p = plain_kernel(layer)
        _require(k)
        _require(layer.weight.is_contiguous(memory_format=torch.channels_last))
        _require(len(self.shape) == 3 and self.shape[0] == layer.in_channels)
        sides, pool = [side + 2 * p for side in self.shape[1:]], kind != "convolution"
        _require(min(sides) >= k + pool)  # at least one window
        if p:
            self._add("padding", (self.shape[0], *sides), k=p)
        shape = (layer.out_channels, *((side - k + 1) // (1 + pool) for side in sides))
        self._add(kind, shape, out=layer.out_channels, k=k, **self._parameters(layer))

    def _pool(self, layer: nn.MaxPool2d | nn.AvgPool2d | nn.AdaptiveAvgPool2d) -> None:
        """Add a pooling by square windows, without padding."""
        _require(len(self.shape) == 3)
        if type(layer) is nn.AdaptiveAvgPool2d:
            _require(layer.output_size in (1, (1, 1)) and self.shape[1] == self.shape[2])
            k = step = self.shape[1]
        else:
            k, step = _windows(layer)
            _require(k and min(self.shape[1:]) >= k)
        sides = [(side - k) // step + 1 for side in self.shape[1:]]
        kind = "maximum" if type(layer) is nn.MaxPool2d else "average"
        self._add(kind, (self.shape[0], *sides), k=k, step=step)

    def _norm(self, layer: nn.GroupNorm | nn.LayerNorm) -> None:
        """Add a normalization of groups of channels, or of all features."""
        if isinstance(layer, nn.LayerNorm):
            _require(self.shape == tuple(layer.normalized_shape) and len(self.shape) == 1)
        else:
            _require(self.shape[0] == layer.num_channels and len(self.shape) in (1, 3))
        _require(layer.weight is not None and layer.bias is not None)
        groups = 1 if isinstance(layer, nn.LayerNorm) else layer.num_groups
        self._add("norm", self.shape, k=groups, constant=layer.eps, **self._parameters(layer))

    def _batch_norm(self, layer: nn.BatchNorm1d | nn.BatchNorm2d) -> None:
        """Add a normalization over the batch; only the chain of a run has the buffers for it."""
        dimensions = 3 if isinstance(layer, nn.BatchNorm2d) else 1
        _require(self._generator is not None and len(self.shape) == dimensions)
        _require(layer.affine and layer.track_running_stats and layer.momentum is not None)
        _require(self.shape[0] == layer.num_features and layer.training)
        starts = [self._buffers.pop(id(buffer), -1) for buffer in layer.buffers()]
        _require(len(starts) == 3 and min(starts) >= 0)
        own: Any = {"buffer": starts[0], "momentum": layer.momentum}
        self._add("batch_norm", self.shape, constant=layer.eps, **own, **self._parameters(layer))

    def _activation(self, layer: nn.Module) -> None:
        kind, constant = type(layer).__name__.lower(), 0.0
        if isinstance(layer, nn.GELU):
            kind = "gelu_tanh" if layer.approximate == "tanh" else kind
        elif isinstance(layer, nn.LeakyReLU):
            kind, constant = "leaky_relu", layer.negative_slope
        elif isinstance(layer, nn.ELU | nn.CELU):
            constant = layer.alpha
        elif type(layer) is nn.Hardtanh:
            constant = layer.max_val
            _require(layer.min_val == -constant)
        elif isinstance(layer, nn.Softplus):
            _require((layer.beta, layer.threshold) == (1, 20))
        _require(constant >= 0)
        self._add(kind, self.shape, constant=constant)

    def _linear(self, layer: nn.Linear) -> None:
        _require(self.shape == (layer.in_features,))
        out = layer.out_features
        self._add("linear", (out,), out=out, **self._parameters(layer))

    def _dropout(self, layer: Dropout) -> None:
        _require(layer.generator is self._generator and layer.source is draw and not self.is_vae)
        draws = self.shape[0] if layer.channels else math.prod(self.shape)
        self._add("dropout", self.shape, draws=draws, constant=1 - layer.p)

    def _vae(self, layer: VAE) -> None:
        _require(layer.generator is self._generator and layer.source is draw and self.is_vae)
        self._read(layer.encoder)
        latent = layer.latent
        _require(self.shape == (2 * latent,))
        self._add("gaussian_code", (latent,), out=latent, draws=latent)
        self._read(layer.decoder)

    def _flatten(self, layer: nn.Flatten) -> None:
        # The outputs of a run's chain may be one for each sample.
        first = 0 if self._generator is not None and math.prod(self.shape) == 1 else 1
        _require(first <= layer.start_dim <= 1 and layer.end_dim == -1)
        self.shape = (math.prod(self.shape),)

    def _unflatten(self, layer: nn.Unflatten) -> None:
        sizes = layer.unflattened_size
        _require(layer.dim == 1 and self.shape == (math.prod(sizes),))
        self.shape = tuple(sizes)

    def _softmax(self, layer: nn.Softmax | nn.LogSoftmax) -> None:
        _require(layer.dim in (1, -1) and len(self.shape) == 1)
        if type(layer) is nn.LogSoftmax:
            self.normalised = True  # cross entropy normalises
        else:
            self._add("softmax", self.shape)


#: Activations, of which some have a number.
ACTIVATIONS = (*INCREASING, nn.Hardswish, nn.Mish, nn.SiLU, nn.GELU)

READERS: dict[type, Callable[[_Reader, Any], None]] = {
    **dict.fromkeys(ACTIVATIONS, _Reader._activation),
    **dict.fromkeys((nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d), _Reader._pool),
    **dict.fromkeys((nn.GroupNorm, nn.LayerNorm), _Reader._norm),
    **dict.fromkeys((nn.BatchNorm1d, nn.BatchNorm2d), _Reader._batch_norm),
    nn.Linear: _Reader._linear,
    **dict.fromkeys((Dropout, *Dropout.__subclasses__()), _Reader._dropout),
    VAE: _Reader._vae,
    nn.Flatten: _Reader._flatten,
    nn.Unflatten: _Reader._unflatten,
    **dict.fromkeys((nn.Softmax, nn.LogSoftmax), _Reader._softmax),
}

#: Layers that do nothing; dropout, if it drops none.
NOTHING = nn.Identity, nn.Dropout, nn.Dropout2d

#: The layers of a chain, by their types.
KINDS = {nn.Conv2d, ViewedConv2d, ConvPoolReLU2d, *NOTHING, *READERS}


def leaves_of(module: nn.Module) -> Iterator[nn.Module]:
    """The layers of nested sequences and rows, in order; other modules as they are."""
    row = row_of(module)
    layers: Any = row.layers if row else module
    if row or type(module) is nn.Sequential:
        for layer in layers:
            yield from leaves_of(layer)
    else:
        yield module


def _is_halving(module: nn.Module) -> bool:
    """Whether this is 2 × 2 max pooling."""
    return type(module) is nn.MaxPool2d and _windows(module) == (2, 2)


def _windows(pooling: Any) -> tuple[int, int]:
    """The side and the strides of square windows without padding; zeros for others."""
    plain = {"padding": 0, "ceil_mode": False, "dilation": 1, "return_indices": False}
    own = {name: getattr(pooling, name, value) for name, value in plain.items()}
    right = all(own[name] in (value, (value, value)) for name, value in plain.items())
    right &= getattr(pooling, "divisor_override", None) is None
    (k, width), (step, other) = _pair(pooling.kernel_size), _pair(pooling.stride)
    return (k, step) if right and k == width and step == other else (0, 0)


def _pair(sizes: Any) -> tuple[int, ...]:
    both = sizes if isinstance(sizes, tuple | list) else (sizes, sizes)
    return tuple(map(int, both))
