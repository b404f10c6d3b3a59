"""Exchanges with workers that lie, in one process among many.

Liars know what all workers send. A process that has received the rows of its workers' neighbours
knows what a lie to these workers depends on, so it forms the lie itself, in place of the row that
has arrived: no further message is needed, and the same bytes are sent as without lies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import torch

from ngo.gossip.mixing_matrix import MixingMatrix

if TYPE_CHECKING:
    from ngo.distributed.process_network import ProcessNetwork
    from ngo.gossip.liars import Liars

#: ``(X, W, at=…, out=…)`` → the rows after a step, in ``out``; the differences are those of ``at``.
Step = Callable[..., torch.Tensor]


def among_liars(
    network: ProcessNetwork,
    step: Step,
    X: torch.Tensor,
    theirs: torch.Tensor,
    others: list[int],
    at: torch.Tensor | None = None,
) -> None:
    """Replace the rows ``X`` ``[k, d]`` of the own workers by those after a step, in place.

    ``theirs`` ``[l, d]`` are the rows of their neighbours, the ``others``, before any lie. With
    ``at`` ``[k, d]``, the differences are those of ``at`` and ``theirs``.
    """
    own, W, liars = network.own, network.W, cast("Liars", network.liars)
    i, j = W.receivers, W.senders
    ours = [(each >= own.start) & (each < own.stop) for each in (i, j)]
    kept = ours[0] | ours[1]  # what a step makes of the others is dropped
    near = MixingMatrix(W.n, i[kept], j[kept], W.weights[kept], W.diagonal)

    def all_rows(rows: torch.Tensor) -> torch.Tensor:
        """By the numbers of workers; 0 for those that are no neighbours."""
        placed = rows.new_zeros(W.n, rows.shape[1])
        placed[own.start : own.stop], placed[others] = rows, theirs
        return placed

    seen = None if at is None else all_rows(at)
    new = liars.step(
        lambda X, W, at: step(X, W, at=at, out=X), all_rows(X), near, network.exchanges, seen
    )
    X.copy_(new[own.start : own.stop])
