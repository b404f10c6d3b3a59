"""Chains of layers on a CPU, compiled from ``layer_chain.c``: passes of many models in one call."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import numpy as np

from ngo.common.lazy import torch
from ngo.common.seeding import torch_stream
from ngo.native.elementwise import HalfStep
from ngo.native.threads import DOUBLE, POINTER, SIZE, Map, call, check_tensors

# In the order of their numbers in layer_chain.c.
LOSSES = ("cross_entropy", "squared_error", "negative_elbo")

# The kinds of layers, in the order of their numbers in layer_chain.c.
LAYERS = (
    *("conv_pool_relu", "linear", "relu", "dropout", "gaussian_code"),
    *("conv_pool", "convolution", "padding", "maximum", "average", "norm", "batch_norm", "softmax"),
    *("leaky_relu", "elu", "celu", "selu", "relu6", "hardtanh", "hardsigmoid", "hardswish"),
    *("softplus", "mish", "silu", "gelu", "gelu_tanh", "tanh", "sigmoid"),
)

CONVOLUTIONS = ("conv_pool_relu", "conv_pool", "convolution")

#: Where more numbers meet a kernel, a convolution without pooling is slower than torch's.
MOST_OF_WINDOW = 500

# Samples of an evaluation that pass all layers together: their numbers stay in a core's cache.
PIECE = 32


class Layer(ctypes.Structure):
    """A layer; layer_chain.c explains the fields."""

    _fields_ = [
        *[(name, SIZE) for name in ("kind", "input", "h", "w", "out", "k", "step")],
        *[(name, SIZE) for name in ("weight", "bias", "drawn", "draws")],
        *[("constant", DOUBLE), ("buffer", SIZE), ("momentum", DOUBLE)],
    ]


class _Chain(ctypes.Structure):
    _fields_ = [
        ("layers", POINTER),
        *[(name, SIZE) for name in ("count", "loss", "features", "plane")],
        *[(name, POINTER) for name in ("shades", "grey")],
        ("rows", SIZE),
        ("then", POINTER),
        ("X", POINTER),
        ("d", SIZE),
    ]


class Chain:
    """Layers and a loss, computed for many models by several threads.

    Inputs are contiguous float32 ``[m, *input_shape]``, or uint8 with ``shades`` ``[c, 256]``: the
    float32 that each value stands for, by channel. Targets are int64 classes ``[m]``, float32
    ``[m, outputs]`` (of one output also ``[m]``) or uint8 images ``[m, *input_shape]``, according
    to the loss. Other tensors raise ValueError, as does a class that the outputs do not have.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        loss: str,
        input_shape: Sequence[int],
        outputs: int,
        *,
        spread: Map,
        threads: int,
    ) -> None:
        """``outputs`` are those of the last layer; ``spread`` has that many ``threads``."""
        self.draws = sum(layer.draws for layer in layers)  # random numbers for a sample
        #: Whether batch normalization is among the layers: they are then for training alone.
        normed = [layer.h * layer.w for layer in layers if LAYERS[layer.kind] == "batch_norm"]
        self.of_batches, self._least = bool(normed), 2 if 1 in normed else 1  # samples
        self.layers = (Layer * len(layers))(*layers)
        self._loss, self._shape, self._outputs = loss, tuple(input_shape), outputs
        self._spread, self._threads = spread, threads
        self._grey = torch.arange(256, dtype=torch.uint8) / 255
        self._work = torch.empty(0)  # of each thread: [threads, floats]
        self._batch = 0  # the largest batch that it is enough for

    @property
    def pays(self) -> bool:
        """Whether it is faster than torch's layers: unless wide convolutions without pooling have
        most products.
        """
        slow = fast = 0
        for layer in self.layers:
            if (kind := LAYERS[layer.kind]) in CONVOLUTIONS:
                window = layer.input * layer.k**2
                products = window * layer.out * (layer.h - layer.k + 1) * (layer.w - layer.k + 1)
                if kind == "convolution" and window > MOST_OF_WINDOW:
                    slow += products
                else:
                    fast += products
        return slow <= 2 * fast

    def gradients(
        self,
        X: torch.Tensor,
        G: torch.Tensor,
        inputs: torch.Tensor,
        targets: torch.Tensor,
        *,
        samples: torch.Tensor | None = None,
        shades: torch.Tensor | None = None,
        noise: torch.Tensor | None = None,
        models: Sequence[int] | None = None,
        buffers: torch.Tensor | None = None,
        then: HalfStep | None = None,
    ) -> torch.Tensor:
        """Write the gradient of each model's mean loss to ``G``; the losses ``[n]``.

        Row i of ``X`` ``[n, d]`` is a model; with ``models`` ``[n]``, the row ``models[i]`` is. Its
        batch are the rows ``samples[i]`` ``[b]`` of inputs and targets; without ``samples``, there
        are n · b rows in order. Row i of ``noise`` has the numbers that each layer draws,
        ``[b, draws]`` of one layer after another. Without ``noise``, dropout is off. Rows of
        ``buffers`` are those of the models; batch normalization changes them. Each model takes the
        half step ``then`` with its gradient, and ``G`` is not written.
        """
        count, d = X.shape
        check_tensors((count, d), X=X, G=G)
        self._check(inputs, targets, shades)
        chosen = np.arange(count) if models is None else np.arange(count)[list(models)]
        n = len(chosen)
        numbers = np.arange(n)
        if samples is None:
            b = len(inputs) // n
            start, places = numbers * b, 0
        else:
            b = samples.shape[1]
            check_tensors((n, b), torch.int64, samples=samples)
            start, places = 0, samples.data_ptr() + 8 * b * numbers
        if noise is not None:
            check_tensors((n, b * self.draws), noise=noise)
        if b < self._least:
            raise ValueError("batch normalization needs more than one value of each channel")
        losses, _ = self._run(
            n,
            X,
            then=then,
            rows=len(inputs),
            shades=shades,
            parameters=X.data_ptr() + 4 * d * chosen,
            gradient=G.data_ptr() + 4 * d * chosen,
            inputs=_rows(inputs, start),
            targets=_rows(targets, start),
            samples=places,
            noise=0 if noise is None else noise.data_ptr() + 4 * b * self.draws * numbers,
            buffers=0 if buffers is None else buffers.data_ptr() + 4 * buffers.shape[1] * chosen,
            b=b,
        )
        return torch.from_numpy((losses / b).astype(np.float32))

    def scores(
        self, X: torch.Tensor, inputs: Sequence[torch.Tensor], targets: Sequence[torch.Tensor]
    ) -> list[tuple[float, float]]:
        """For each model, the sum of the losses of all samples, and how many classes are right.

        A chunk's draws are those of ``evaluation_noise``.
        """
        drawn = {len(chunk): self.evaluation_noise(len(chunk)) for chunk in inputs}
        noise = _pieces([row for chunk in inputs if (row := drawn[len(chunk)]) is not None])
        inputs, targets = (
            _pieces([chunk.contiguous() for chunk in chunks]) for chunks in (inputs, targets)
        )
        n, d = X.shape
        check_tensors((n, d), X=X)
        for chunk in zip(inputs, targets, strict=True):
            self._check(*chunk, None)
        losses, correct = self._run(
            n * len(inputs),
            X,
            parameters=np.repeat(X.data_ptr() + 4 * d * np.arange(n), len(inputs)),
            gradient=0,
            inputs=np.tile([x.data_ptr() for x in inputs], n),
            targets=np.tile([x.data_ptr() for x in targets], n),
            samples=0,
            noise=np.tile([x.data_ptr() for x in noise], n) if noise else 0,
            buffers=0,
            b=np.tile([len(x) for x in inputs], n),
        )
        sums = (values.reshape(n, -1).sum(1).tolist() for values in (losses, correct))
        return list(zip(*sums, strict=True))

    def evaluation_noise(self, b: int) -> torch.Tensor | None:
        """What the layers draw to evaluate ``b`` samples, ``[b, draws]`` (see ``VAE``)."""
        if not any(layer.kind == LAYERS.index("gaussian_code") for layer in self.layers):
            return None
        return torch.randn(b, self.draws, generator=torch_stream(0, "elbo"))

    def _check(
        self, inputs: torch.Tensor, targets: torch.Tensor, shades: torch.Tensor | None
    ) -> None:
        m, kind = len(inputs), torch.float32 if shades is None else torch.uint8
        check_tensors((m, *self._shape), kind, inputs=inputs)
        if shades is not None:
            check_tensors((self._shape[0], 256), shades=shades)
        outputs = [self._outputs] * (targets.dim() > 1 or self._outputs > 1)
        shape, kind = {
            "cross_entropy": ((m,), torch.int64),
            "squared_error": ((m, *outputs), torch.float32),
            "negative_elbo": ((m, *self._shape), torch.uint8),
        }[self._loss]
        check_tensors(shape, kind, targets=targets)

    def _run(
        self,
        count: int,
        X: torch.Tensor,
        then: HalfStep | None = None,
        rows: int = 0,
        shades: torch.Tensor | None = None,
        **items: np.ndarray | int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute all items: for each, the sum of the losses and the number of right classes.

        Their samples are among so many ``rows``.
        """
        table = np.empty((count, len(items)), np.int64)  # of layer_chain.c's struct `item`
        for column, values in enumerate(items.values()):
            table[:, column] = values
        features = math.prod(self._shape)
        chain = _Chain(
            ctypes.addressof(self.layers),
            len(self.layers),
            LOSSES.index(self._loss),
            features,
            features // (1 if shades is None else self._shape[0]),
            0 if shades is None else shades.data_ptr(),
            self._grey.data_ptr() if self._loss == "negative_elbo" else 0,
            rows,
            None if then is None else ctypes.addressof(then),
            X.data_ptr(),
            X.shape[1],
        )
        batch = int(table[:, -1].max(initial=1))
        if batch > self._batch:
            size = call("ngo_chain_workspace", ctypes.byref(chain), batch, result=SIZE)
            self._work, self._batch = torch.empty(self._threads, size), batch
        losses, correct, taken = np.empty(count), np.empty(count, np.int64), ctypes.c_int64()
        arguments = ctypes.byref(chain), table, count, losses, correct, ctypes.byref(taken)

        def part(thread: int) -> None:
            call("ngo_chain", *arguments, self._work[thread])

        self._spread(part, min(self._threads, count))
        if (worst := correct.min(initial=0)) == -2:
            raise ValueError(f"samples must be in 0 to {rows - 1}")
        if worst < 0:
            raise ValueError(f"a target is not a class from 0 to {self._outputs - 1}")
        return losses, correct


def lone_chain(layers: Sequence[Layer], input_shape: Sequence[int]) -> _Chain:
    """A chain of layers that draw nothing, without a loss, for ``ngo_take_chain``."""
    array, features = (Layer * len(layers))(*layers), math.prod(input_shape)
    chain = _Chain(ctypes.addressof(array), len(layers), 0, features, features)
    chain.kept = array
    return chain


def _pieces(chunks: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The chunks, divided."""
    return [piece for chunk in chunks for piece in chunk.split(PIECE)]


def _rows(x: torch.Tensor, starts: np.ndarray | int) -> np.ndarray | int:
    """The addresses of rows of ``x``."""
    return x.data_ptr() + starts * x[:1].numel() * x.element_size()
