"""Exchanges in which some workers lie about what they send."""

from __future__ import annotations

from collections.abc import Callable

from ngo.common.lazy import torch
from ngo.common.seeding import torch_stream
from ngo.gossip.attack import Attack, Messages
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.step import Run

#: ``(X, W, at)`` → the rows after a step; the differences are those of ``at``.
Take = Callable[[torch.Tensor, MixingMatrix, torch.Tensor], torch.Tensor]


class Liars:
    """The last workers of a run, which lie to all others.

    Apart from that they learn as all workers do: they have data, and take what they receive. They
    tell each other the truth.
    """

    def __init__(self, attack: Attack, run: Run, seed: int, honest: int) -> None:
        """The first ``honest`` workers do not lie. ``run`` has the fields of the attack."""
        self._attack, self._run, self._seed, self._honest = attack, run, seed, honest

    def step(
        self, take: Take, X: torch.Tensor, W: MixingMatrix, t: int, at: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The rows ``[n, d]`` of ``take`` (X, W, at), where liars lie about their rows of ``at``.

        ``t`` numbers the exchange: lies of one number have the same random draws. W is symmetric.
        Rows for the lies, one for each edge from a liar to an honest worker i, and rows for the
        truth that liars receive, are appended. Worker i is at an edge with the lie instead of the
        liar. What the step makes of the appended rows is dropped.
        """
        i, j, h = W.receivers, W.senders, self._honest
        lied, told = (i < h) & (j >= h), (i >= h) & (j < h)
        seen = X if at is None else at
        lies = self._lies(seen, W, lied, t)
        tellers, places = j[told].unique(return_inverse=True)
        sources = j.clone()
        sources[lied] = W.n + torch.arange(len(lies))
        sources[told] = W.n + len(lies) + places
        apart = lied | told
        more = len(lies) + len(tellers)
        among = MixingMatrix(
            W.n + more,
            torch.cat([i, sources[apart]]),
            torch.cat([sources, i[apart]]),
            torch.cat([W.weights, W.weights[apart]]),
            torch.cat([W.diagonal, torch.ones(more).double()]),
        )
        seen = torch.cat([seen, lies, seen[tellers.to(seen.device)]])
        moved = seen if at is None else torch.cat([X, seen[W.n :]])
        return take(moved, among, seen)[: W.n]

    def _lies(
        self, rows: torch.Tensor, W: MixingMatrix, lied: torch.Tensor, t: int
    ) -> torch.Tensor:
        """What goes along the ``lied`` edges, a mask; ``[lies, d]``."""
        lies = []
        for i in W.receivers[lied].unique().tolist():
            near = slice(int(W.starts[i]), int(W.starts[i + 1]))
            senders, weights = W.senders[near], W.weights[near]
            honest = senders < self._honest
            messages = Messages(
                rows[senders[~honest].to(rows.device)],
                rows[i],
                rows[senders[honest].to(rows.device)],
                weights[honest].to(rows),
                float(weights[~honest].sum()),
                torch_stream(self._seed, f"lies {t}", i, rows.device),
            )
            lies.append(self._attack.lie(messages, self._run).expand_as(messages.truth))
        return torch.cat(lies) if lies else rows[:0]
