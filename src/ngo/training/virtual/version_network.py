"""The network of steps that use models of other times."""

from __future__ import annotations

from dataclasses import dataclass

from ngo.common.lazy import torch
from ngo.common.registry import UserError
from ngo.gossip.coupling import Coupling
from ngo.gossip.gossip_step import mix
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.network import SharedMatrix, check_rows
from ngo.gossip.step import Run
from ngo.native.pool import Map


@dataclass(frozen=True)
class Exchange:
    """What the steps of one batch send and use, row by row."""

    #: The slots of the models that are kept, and their rows in the batch.
    kept: torch.Tensor
    kept_rows: torch.Tensor
    #: For each message: the row that uses it, its slot, its weight.
    rows: torch.Tensor
    slots: torch.Tensor
    weights: torch.Tensor
    #: The weights of the rows themselves, in sums.
    own: torch.Tensor
    #: The mixing matrix of steps that all workers take together.
    W: MixingMatrix | None
    #: The rows that meet a partner, and the partners.
    meeting: torch.Tensor
    partners: torch.Tensor


class VersionNetwork(SharedMatrix):
    """Sent rows are kept in slots, from which later steps read them.

    Messages are counted by the schedule.
    """

    def __init__(self, X: torch.Tensor, spread: Map) -> None:
        """``X`` are all workers' rows, which change when workers meet."""
        super().__init__(spread)
        self._X = X
        self.slots = self._work = X[:0]
        self._now: Exchange | None = None

    def begin(self, exchange: Exchange, slots: int) -> None:
        """The next step is that of a batch; slots have numbers below ``slots``."""
        self._now, self._needed = exchange, slots

    def end(self) -> None:
        """The batch is over: a UserError if it has not sent what others use."""
        if self._now is not None and len(self._now.kept):
            raise self._misses()
        self._now = None

    def pull(
        self,
        X: torch.Tensor,
        coupling: Coupling,
        gamma: float,
        run: Run,
        at: torch.Tensor | None = None,
        theirs: torch.Tensor | None = None,
    ) -> None:
        """Each row is pulled by the models that it uses. Those do not move."""
        self.refuse_directed()
        now = self._sent(X if at is None else at)
        if now.W is not None:
            coupling.step(X, now.W, gamma, run, at=at, out=X, spread=self._spread)
        elif len(now.rows):
            used, places = now.slots.unique(return_inverse=True)
            k, i = len(X), now.rows.cpu()
            j = k + places.cpu()
            W = MixingMatrix(
                k + len(used),
                torch.cat([i, j]),
                torch.cat([j, i]),
                now.weights.repeat(2),
                torch.zeros(k + len(used)),  # which no pull reads
            )
            both = self._with(X, used)
            seen = None if at is None else torch.cat([at, both[k:]])
            coupling.step(both, W, gamma, run, at=seen, out=both, spread=self._spread)
            if both.data_ptr() != X.data_ptr():
                X.copy_(both[:k])

    def chosen(self, rows: torch.Tensor) -> torch.Tensor:
        """A copy of some of all workers' rows, which the next call overwrites."""
        return torch.index_select(self._X, 0, rows, out=self._room(len(rows)))

    def _room(self, count: int) -> torch.Tensor:
        """Rows of working memory."""
        if len(self._work) < count:
            self._work = self._X.new_empty(count + count // 2, self._X.shape[1])
        return self._work[:count]

    def _with(self, X: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        """``X``, where it is if it is in the working memory, and after it these slots."""
        k = len(X)
        both = self._room(k + len(slots))
        if both.data_ptr() != X.data_ptr():
            both[:k] = X
        torch.index_select(self.slots, 0, slots, out=both[k:])
        return both

    def mix(self, rows: torch.Tensor, gamma: float = 1.0) -> None:
        """R ← (1 − γ) R + γ S, with the sums S of own shares and of the messages used."""
        now = self._sent(rows)
        if now.W is not None:
            mix(rows, now.W, gamma, spread=self._spread)
            return
        own, weights = (1 - gamma) + gamma * now.own, gamma * now.weights
        rows *= own.to(rows)[:, None]
        rows.index_add_(0, now.rows, self.slots[now.slots] * weights.to(rows)[:, None])

    def average(self, rows: torch.Tensor) -> None:
        """Each row and that of its partner become their mean."""
        now = self._taken()
        means = (rows[now.meeting] + self._X[now.partners]) / 2
        rows[now.meeting] = means
        self._X[now.partners] = means

    def _sent(self, rows: torch.Tensor) -> Exchange:
        """Keep the rows that others use."""
        now = self._taken()
        check_rows(rows, len(now.own))
        if len(self.slots) < self._needed or self.slots.shape[1] != rows.shape[1]:
            before = self.slots
            self.slots = rows.new_zeros(max(self._needed, 2 * len(before)), rows.shape[1])
            if before.shape[1] == rows.shape[1]:
                self.slots[: len(before)] = before
        if len(now.kept):
            self.slots.index_copy_(0, now.kept, rows[now.kept_rows])
        return now

    def _taken(self) -> Exchange:
        """What the batch exchanges, once."""
        if (now := self._now) is None:
            raise self._misses()
        self._now = None
        return now

    def mean(self, rows: torch.Tensor) -> torch.Tensor:
        """Refused, as is each operation that needs all workers, or every message."""
        raise self._misses()

    index = send = swap = mean  # type: ignore[assignment]

    def _misses(self) -> UserError:
        return UserError(
            "clock: 'asynchronous' is not possible with a method that exchanges other than once "
            "in a step, in every local_steps-th one; its declaration must not say "
            "asynchronous=True."
        )
