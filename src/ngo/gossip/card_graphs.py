"""Random graphs that a GPU draws, of many exchanges at once.

Their numbers are those of ``card_streams``, with a stream for each exchange: nothing goes on from
one to the next. The host draws the same graphs, and counts messages without waiting for the GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from ngo.common.lazy import Run, Tensor, torch
from ngo.common.registries import METROPOLIS
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix
from ngo.native.card_streams import CardStreams

# The most graphs of a run, and numbers, that are drawn at once.
AHEAD, NUMBERS = 64, 1 << 16


class CardMatrix(MixingMatrix):
    """Mixing matrices on a GPU, ``there`` ``[blocks, n, n]`` in float64.

    What else is asked for, the host makes: all edges, for example where links fail.
    """

    def __init__(self, there: Tensor, edges: int, make: Callable[[], Matrix]) -> None:
        """``make`` returns the same matrices on the host."""
        self.there, self.edges, self._make = there, edges, make
        self.blocks, self.n = len(there), len(there) * there.shape[1]
        self._on_device = {}

    @cached_property
    def _here(self) -> MixingMatrix:
        return MixingMatrix.of(self._make())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._here, name)

    def _value(self, name: str) -> Any:
        """As of any matrix, but ``rows`` have all pairs as edges: those that are none weigh 0."""
        W, n = self.there, self.n
        own = W.diagonal(dim1=-2, dim2=-1)
        if name == "dense":
            return W if self.blocks > 1 else W[0]
        if name == "diagonal":
            return own.flatten()
        if name == "received":
            return 1 - own.flatten()
        if name == "rows":
            starts = torch.arange(0, n * self.size + 1, self.size, device=W.device)
            workers = torch.arange(n, device=W.device).view(-1, 1, self.size)
            return starts, workers.expand_as(W).flatten(), (W - own.diag_embed()).flatten()
        return super()._value(name)


def joined(*matrices: MixingMatrix) -> MixingMatrix:
    """``MixingMatrix.joined``; on a GPU, if one of them is there."""
    there = [W.there for W in matrices if isinstance(W, CardMatrix)]
    if not there:
        return MixingMatrix.joined(*matrices)
    dense = torch.stack([W.on(there[0], "dense") for W in matrices])
    edges, make = sum(W.edges for W in matrices), partial(MixingMatrix.joined, *matrices)
    return CardMatrix(dense, edges, make)


class CardGraphs:
    """The random graphs G(n, u) of a ``run``, by the number of the exchange."""

    def __init__(self, run: Run, device: torch.device) -> None:
        self._run, self._device = run, device
        self._ahead = range(0)  # the exchanges whose graphs are drawn

    def at(self, t: int) -> CardMatrix:
        """The matrix of exchange ``t``."""
        rule = self._run.weights
        if t not in self._ahead:
            self._ahead = range(t, t + min(AHEAD, -(-NUMBERS // self._run.workers**2)))
            self._there = weighted(self._drawn(self._device), rule)
            self._here = self._drawn("cpu")
            self._counts = self._here.sum((1, 2)).tolist()
        k = t - self._ahead[0]
        here = partial(weighted, self._here[k], rule)
        return CardMatrix(self._there[k, None], self._counts[k], here)

    def _drawn(self, device: object) -> Tensor:
        """Whether workers are neighbours, by exchange ``[t, n, n]``."""
        n, u = self._run.workers, self._run.u
        streams = CardStreams.of(self._run.seed, "graphs", self._ahead, device)
        above = (streams.uniform((n, n)) < u).triu(1)
        return above | above.mT


def weighted(edges: Tensor, rule: str) -> Tensor:
    """``mixing_of`` in dense matrices ``[…, n, n]``: where there are ``edges``, in float64."""
    share = 1 / (1 + edges.sum(-1, dtype=torch.float64))
    pairs = torch.minimum(share[..., None], share[..., None, :])  # Metropolis–Hastings
    W = edges * (pairs if rule == METROPOLIS else share.amin(-1)[..., None, None])
    W.diagonal(dim1=-2, dim2=-1).copy_(1 - W.sum(-1))
    return W
