"""Steps of some workers, given the rows of their neighbours: the part of one process among many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ngo.gossip.steps.linear import mix
from ngo.native.pool import Map

if TYPE_CHECKING:
    from ngo.gossip.coupling import Coupling
    from ngo.gossip.mixing_matrix import MixingMatrix
    from ngo.gossip.step import Run


def pull_rows(
    X: torch.Tensor,
    theirs: torch.Tensor,
    workers: list[int],
    W: MixingMatrix,
    coupling: Coupling,
    gamma: float,
    run: Run,
    *,
    at: torch.Tensor | None = None,
    spread: Map,
) -> None:
    """Take the gossip step of the rows ``X`` ``[k, d]``, in place.

    ``theirs`` ``[l, d]`` are their neighbours' rows; ``workers`` are the numbers of all k + l
    workers. With ``at`` ``[k, d]``, the differences are those of ``at`` and ``theirs``.
    """
    near = W.part(workers, len(X))  # edges between two others change only the others
    seen = None if at is None else torch.cat([at, theirs])
    new = coupling.step(torch.cat([X, theirs]), near, gamma, run, at=seen, spread=spread)
    X.copy_(new[: len(X)])


def mix_rows(
    rows: torch.Tensor,
    theirs: torch.Tensor,
    workers: list[int],
    W: MixingMatrix,
    gamma: float,
    *,
    spread: Map,
) -> None:
    """Mix ``rows`` ``[k, d]`` at the rate γ with ``theirs``, in place (see above)."""
    both = torch.cat([rows, theirs])
    mix(both, W.part(workers, len(rows)), gamma, spread=spread)
    rows.copy_(both[: len(rows)])
