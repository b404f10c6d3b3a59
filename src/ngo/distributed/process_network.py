"""The network of a process that holds some of the workers.

Rows go point to point, from neighbour to neighbour. What all workers take part in (a parameter
server, the index V) is a sum over all processes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, pairwise
from typing import cast

import torch

from ngo.common.lazy import Tensor
from ngo.distributed.rendezvous import Group
from ngo.gossip.attack import Byzantine
from ngo.gossip.exchange import Network, Pulls, check_rows, relay
from ngo.gossip.gossip_step import linear_step, mix
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native.threads import Map


class ProcessNetwork(Network):
    """A network whose step ends when the rows of all neighbours have arrived."""

    def __init__(self, group: Group, workers: int, spread: Map) -> None:
        """``spread`` divides columns among threads."""
        super().__init__(spread)
        self.group, self.workers = group, workers
        #: The workers of each process, and those of this one.
        self.shares = shares(workers, group.size)
        self.local = self.shares[group.me]

    def mean(self, rows: Tensor) -> Tensor:
        """Counted as if a parameter server made it."""
        self.refuse_byzantine()
        self.count(2 * len(rows), rows)
        return self.group.total(rows.sum(0)) / self.workers

    def index(self, rows: Tensor) -> float:
        """Σᵢ‖xᵢ − x̄‖² of all rows."""
        self.refuse_byzantine()
        return float(self.moments(rows, self.workers)[1])

    def moments(self, rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
        """The mean row ``[d]`` of the ``n`` rows of all processes, and their spread Σ‖xᵢ − x̄‖²."""
        rows = rows.double()
        mean = self.group.total(rows.sum(0)) / n
        return mean, self.group.total((rows - mean).square().sum()[None])

    def send(self, rows: Tensor) -> Tensor:
        """Each row goes once to each process with a neighbour."""
        return self._exchange(rows)

    def swap(self, rows: Tensor) -> Tensor:
        """Rows of edges within this process change places; the others go to their processes."""
        self.refuse_byzantine()
        links, me = self.links(), self.group.me
        shares = enumerate(self.shares)
        places = {q: among(links[1], share).nonzero().flatten() for q, share in shares}
        parts = {q: rows[e.to(rows.device)] for q, e in places.items() if len(e)}
        received = {me: parts.pop(me)} if me in parts else {}
        counts = {q: len(part) for q, part in parts.items()}
        received |= self.group.exchange(rows, parts, counts)
        swapped = torch.empty_like(rows)
        for q, part in received.items():
            # They are in the order of the sender's links, (j, i) for (i, j).
            order = places[q][self.turned(links[:, places[q]])]
            swapped[order.to(rows.device)] = part
        self.count(len(rows), rows)
        return swapped

    def relay(self, X: Tensor, received: Tensor) -> None:
        """By ``swap`` alone."""
        relay(X, received, self.links()[0], self.swap)

    def links(self) -> Tensor:
        """The links of the local workers; see ``Network``."""
        i, j = super().links()
        mine = among(i, self.local)
        return torch.stack([i[mine] - self.local.start, j[mine]])

    def mix(self, rows: Tensor, gamma: float = 1.0) -> None:
        """The product of the local rows of W with the rows of the local workers and neighbours."""
        theirs = self._exchange(rows)
        if self.byzantine is None:
            both = torch.cat([rows, theirs])
            mix(both, self.near(), gamma, spread=self._spread)
            rows.copy_(both[: len(rows)])
        else:
            self.refuse_directed()
            step = partial(linear_step, gamma=gamma, spread=self._spread)
            self._among_byzantine(step, rows, theirs, None)

    def pull(
        self, X: Tensor, step: Pulls, at: Tensor | None = None, theirs: Tensor | None = None
    ) -> None:
        """The gossip step of the local rows, given the rows of the neighbours."""
        self.refuse_directed()
        if theirs is None:
            theirs = self._exchange(X if at is None else at)
        step = partial(step, spread=self._spread)
        if self.byzantine is None:
            seen = None if at is None else torch.cat([at, theirs])
            X.copy_(step(torch.cat([X, theirs]), self.near(), at=seen)[: len(X)])
        else:
            self._among_byzantine(step, X, theirs, at)

    def near(self) -> MixingMatrix:
        """W among the local workers and those ``elsewhere``, without edges between two of these."""
        return self.W.part([*self.local, *self.elsewhere()], len(self.local))

    def elsewhere(self) -> list[int]:
        """The workers in other processes from which the local ones receive, by process."""
        return list(chain(*(self._senders(self.shares[q], self.local) for q in self.group.others)))

    def _senders(self, senders: range, receivers: range) -> list[int]:
        """The ``senders`` with an edge to ``receivers``, in order."""
        W = self.W
        near = W.senders[among(W.senders, senders) & among(W.receivers, receivers)]
        return near.unique().tolist()

    def _exchange(self, rows: Tensor) -> Tensor:
        """Send the local rows to neighbours, and count them; the rows of those ``elsewhere``."""
        check_rows(rows, len(self.local))
        send, receive = {}, {}
        for q in self.group.others:
            if needed := self._senders(self.local, self.shares[q]):
                send[q] = rows[[i - self.local.start for i in needed]]
            if senders := self._senders(self.shares[q], self.local):
                receive[q] = len(senders)
        received = self.group.exchange(rows, send, receive)
        self.count(int(among(self.W.senders, self.local).sum()), rows)
        return torch.cat([rows[:0], *received.values()])

    def _among_byzantine(
        self, step: Callable[..., Tensor], X: Tensor, theirs: Tensor, at: Tensor | None
    ) -> None:
        """Replace the local rows ``X`` by those after a ``step``, in place.

        Byzantine workers know what all workers send. A process that has received ``theirs``, the
        rows of its workers' neighbours, knows what a false row depends on, so it forms it itself:
        no further message is needed. With ``at``, the differences are those of ``at`` and
        ``theirs``.
        """
        local, W, byzantine = self.local, self.W, cast(Byzantine, self.byzantine)
        # What a step makes of the others is dropped.
        kept = among(W.receivers, local) | among(W.senders, local)
        near = MixingMatrix(W.n, W.receivers[kept], W.senders[kept], W.weights[kept], W.diagonal)

        def all_rows(rows: Tensor) -> Tensor:
            """By the numbers of workers; 0 for those that are no neighbours."""
            placed = rows.new_zeros(W.n, rows.shape[1])
            placed[local.start : local.stop], placed[self.elsewhere()] = rows, theirs
            return placed

        seen = None if at is None else all_rows(at)
        new = byzantine.step(step, all_rows(X), near, self.exchanges, seen)
        X.copy_(new[local.start : local.stop])


def shares(workers: int, processes: int) -> list[range]:
    """The workers of each process: consecutive numbers, as evenly as possible."""
    starts = [workers * k // processes for k in range(processes + 1)]
    return [range(*ends) for ends in pairwise(starts)]


def among(workers: Tensor, some: range) -> Tensor:
    """Whether each of the ``workers`` is one of ``some``."""
    return (workers >= some.start) & (workers < some.stop)
