"""Mixing matrices, kept as the weights of edges: row i weighs what worker i receives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

from ngo.common.lazy import np, torch
from ngo.common.transfers import sent


class MixingMatrix:
    """A mixing matrix W ``[n, n]`` in float64: the entries that are edges, and the diagonal.

    Each entry off the diagonal that is not 0 is a directed edge, with a receiver i, a sender j and
    a weight W_ij. Edges are in order of (i, j): those of receiver i are from ``starts[i]`` to
    ``starts[i + 1]`` (the format CSR). The memory is O(n + edges). All tensors are on the CPU and
    are not changed.
    """

    def __init__(
        self,
        n: int,
        receivers: torch.Tensor,
        senders: torch.Tensor,
        weights: torch.Tensor,
        diagonal: torch.Tensor,
        *,
        in_order: bool = False,
    ) -> None:
        """The directed edges ``[e]``, each once, and the ``diagonal`` ``[n]``.

        Edges that are not known to be ``in_order`` are put in order.
        """
        if not in_order and not _ordered(n, receivers, senders):
            order = order_by(n, senders, receivers)
            receivers, senders, weights = receivers[order], senders[order], weights[order]
        self.receivers, self.senders = receivers, senders
        self.weights, self.diagonal = weights.double(), diagonal.double().contiguous()
        degrees = torch.bincount(receivers, minlength=n)
        self.starts = torch.cat([degrees.new_zeros(1), degrees.cumsum(0)])
        self._there: dict[tuple[torch.device, torch.dtype], Parts] = {}

    @classmethod
    def of(cls, W: torch.Tensor | MixingMatrix) -> MixingMatrix:
        """The matrix of a dense tensor ``[n, n]``; a ``MixingMatrix`` itself."""
        if isinstance(W, MixingMatrix):
            return W
        receivers, senders = (W - torch.diag(W.diagonal())).nonzero().T
        return cls(len(W), receivers, senders, W[receivers, senders], W.diagonal())

    @classmethod
    def identity(cls, n: int) -> MixingMatrix:
        """The matrix of n workers without an edge."""
        none = torch.zeros(0, dtype=torch.long)
        return cls(n, none, none, none, torch.ones(n))

    @property
    def n(self) -> int:
        """The number of workers."""
        return len(self.diagonal)

    @property
    def edges(self) -> int:
        """The number of directed edges."""
        return len(self.weights)

    @property
    def crowded(self) -> bool:
        """Whether most pairs of workers are edges, so that a dense matrix is as short."""
        return 2 * self.edges > self.n**2

    def dense(self) -> torch.Tensor:
        """The dense matrix ``[n, n]``, float64."""
        W = torch.diag(self.diagonal)
        W[self.receivers, self.senders] = self.weights
        return W

    @cached_property
    def received(self) -> torch.Tensor:
        """``[n]``: the sum of the weights of what each worker receives from others."""
        return torch.bincount(self.receivers, self.weights, self.n).double()

    @cached_property
    def pairs(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The edges (i, j) with i < j, and their weights W_ij: of a symmetric W, each edge once."""
        once = self.receivers < self.senders
        return self.receivers[once], self.senders[once], self.weights[once]

    @cached_property
    def links(self) -> tuple[torch.Tensor, int]:
        """The number ``[edges]`` of each edge's pair of workers, and the number of such pairs.

        Pairs (i, j), i < j, are counted in their order. Both directions are the same pair.
        """
        low = torch.minimum(self.receivers, self.senders)
        high = torch.maximum(self.receivers, self.senders)
        order = order_by(self.n, high, low)
        low, high = low[order], high[order]
        first = torch.ones(self.edges, dtype=torch.bool)
        first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        counted = first.cumsum(0)
        numbers = torch.empty_like(order)
        numbers[order] = counted - 1
        return numbers, int(counted[-1]) if self.edges else 0

    @cached_property
    def transposed(self) -> MixingMatrix:
        """Wᵀ, in which receivers are senders."""
        return MixingMatrix(self.n, self.senders, self.receivers, self.weights, self.diagonal)

    def part(self, workers: Sequence[int], rows: int) -> MixingMatrix:
        """The matrix of some ``workers``, in this order, with the edges of the first ``rows``.

        An edge between two workers after the first ``rows`` is left out; the diagonal is W's.
        """
        chosen = torch.tensor(workers)
        place = torch.full((self.n,), -1)
        place[chosen] = torch.arange(len(chosen))
        i, j = place[self.receivers], place[self.senders]
        kept = (i >= 0) & (j >= 0) & ((i < rows) | (j < rows))
        return MixingMatrix(
            len(workers), i[kept], j[kept], self.weights[kept], self.diagonal[chosen]
        )

    def without(self, lost: torch.Tensor) -> MixingMatrix:
        """W without the ``lost`` edges, a mask ``[edges]``; their weights go to their senders."""
        kept, back = ~lost, torch.bincount(self.senders[lost], self.weights[lost], self.n)
        return MixingMatrix(
            self.n,
            self.receivers[kept],
            self.senders[kept],
            self.weights[kept],
            self.diagonal + back,
            in_order=True,
        )

    def on(self, device: torch.device, dtype: torch.dtype) -> Parts:
        """Its parts on a device, with weights of type ``dtype``; they are sent once."""
        if (device, dtype) not in self._there:
            self._there[device, dtype] = Parts(self, device, dtype)
        return self._there[device, dtype]


class Parts:
    """The parts of a matrix on a device, each sent when it is first used."""

    def __init__(self, W: MixingMatrix, device: torch.device, dtype: torch.dtype) -> None:
        self._W, self._device, self._dtype = W, device, dtype

    @cached_property
    def places(self) -> tuple[torch.Tensor, torch.Tensor]:
        """``starts`` and ``senders``."""
        return sent(self._W.starts, self._device), sent(self._W.senders, self._device)

    @cached_property
    def weights(self) -> torch.Tensor:
        """``[edges]``."""
        return self._sent(self._W.weights)

    @cached_property
    def received(self) -> torch.Tensor:
        """``[n]``."""
        return self._sent(self._W.received)

    @cached_property
    def diagonal(self) -> torch.Tensor:
        """``[n]``."""
        return self._sent(self._W.diagonal)

    @cached_property
    def dense(self) -> torch.Tensor:
        """``[n, n]``."""
        return self._sent(self._W.dense())

    @cached_property
    def pairs(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """``pairs``."""
        i, j, weights = self._W.pairs
        return sent(i, self._device), sent(j, self._device), self._sent(weights)

    @cached_property
    def ends(self) -> torch.Tensor:
        """``[edges]``: where a symmetric matrix's directed edges are in ``pairs``, twice in a row.

        The first of the two are edges to i, the second to j.
        """
        numbers, count = self._W.links
        later = self._W.receivers > self._W.senders
        return sent(numbers + count * later, self._device)

    def _sent(self, floats: torch.Tensor) -> torch.Tensor:
        return sent(floats.to(self._dtype), self._device)


def _ordered(n: int, first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether the pairs (``first``, ``second``) are in ascending order, each once."""
    keys = first * n + second
    return bool((keys[1:] > keys[:-1]).all())


def order_by(n: int, *keys: torch.Tensor) -> torch.Tensor:
    """The stable order of workers by the last of the ``keys``, then by those before it.

    For up to 2¹⁶ workers it takes linear time, since NumPy sorts numbers of 16 bits by their
    digits.
    """
    short = np.uint16 if n <= 2**16 else np.int64
    return torch.from_numpy(np.lexsort([each.numpy().astype(short) for each in keys]))


#: A mixing matrix, dense ``[n, n]`` or as edges.
Matrix: TypeAlias = "torch.Tensor | MixingMatrix"
