"""The workers' modules, whose parameters and buffers are rows of matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn

Tensors = Mapping[str, torch.Tensor]


class WorkerModules(Sequence[nn.Module]):
    """The modules of n workers, each built when it is first used.

    Thousands of modules take longer to build than a step, and backends that compute all workers at
    once use few of them. Modules are not built in several threads at once.
    """

    def __init__(
        self,
        build: Callable[[int], nn.Module],
        X: torch.Tensor,
        G: torch.Tensor,
        buffers: torch.Tensor,
        counts: torch.Tensor,
    ) -> None:
        """``build(i)`` makes the module of row i."""
        self._build, self._rows = build, (X, G, buffers, counts)
        self._built: dict[int, nn.Module] = {}

    def __len__(self) -> int:
        return len(self._rows[0])

    def __getitem__(self, i):  # type: ignore[no-untyped-def]  # an index or a slice
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        if i not in self._built:
            module = self._build(i)
            bind(module, *(rows[i] for rows in self._rows))
            self._built[i] = module
        return self._built[i]


def parameters_of(module: nn.Module) -> Tensors:
    """The module's parameters by name."""
    return dict(module.named_parameters())


def buffers_of(module: nn.Module) -> Tensors:
    """The module's float buffers by name."""
    return {name: each for name, each in module.named_buffers() if each.is_floating_point()}


def counts_of(module: nn.Module) -> Tensors:
    """The module's int64 buffers by name, such as batch normalization's number of batches."""
    return {name: each for name, each in module.named_buffers() if each.dtype == torch.int64}


def bind(
    module: nn.Module,
    X: torch.Tensor,
    G: torch.Tensor | None,
    buffers: torch.Tensor,
    counts: torch.Tensor,
) -> None:
    """Make the module's parameters, their gradients and its buffers views of rows."""
    for named, row in (
        (parameters_of(module), X),
        (buffers_of(module), buffers),
        (counts_of(module), counts),
    ):
        for name, view in views(named, row).items():
            named[name].data = view
    if G is not None:
        named = parameters_of(module)
        for name, view in views(named, G).items():
            named[name].grad = view


def fill(named: Tensors, rows: torch.Tensor) -> None:
    """Copy tensors into each of ``rows``, in order."""
    for name, view in views(named, rows).items():
        view.copy_(named[name].detach())


def views(named: Tensors, rows: torch.Tensor) -> dict[str, torch.Tensor]:
    """Views of consecutive pieces of ``rows`` ``[…, d]``, with the tensors' shapes ``[…, *shape]``.

    Convolution kernels are stored with their channels last. In this layout, convolution and pooling
    are fastest on a CPU.
    """
    found, start = {}, 0
    for name, tensor in named.items():
        piece = rows[..., start : start + tensor.numel()]
        start += tensor.numel()
        if tensor.dim() == 4:
            out, channels, height, width = tensor.shape
            found[name] = piece.unflatten(-1, (out, height, width, channels)).movedim(-1, -3)
        else:
            found[name] = piece.unflatten(-1, tensor.shape) if tensor.dim() else piece.squeeze(-1)
    return found
