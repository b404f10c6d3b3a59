"""A step to the trimmed mean of each worker's neighbourhood."""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.steps import column_blocks
from ngo.native.pool import Map


def trimmed_step(
    X: torch.Tensor,
    W: MixingMatrix,
    gamma: float,
    trim: int,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """x_i + γ (m_i − y_i), with m_i the mean of y_i and its neighbours' y_j, trimmed by entry.

    y are the rows of ``at``. Of c values, the ``trim`` largest and the ``trim`` smallest are left
    out, or as many as leave one value (for odd c) or two. The weights of edges do not count.
    """
    n = len(X)
    counts = W.starts.diff() + 1
    slots = torch.arange(int(counts.max()))
    # The worker of each slot of a neighbourhood; n is that of a row of infinity, which sorts last.
    members = torch.full((n, len(slots)), n)
    members[:, 0] = torch.arange(n)
    members[W.receivers, 1 + torch.arange(W.edges) - W.starts[W.receivers]] = W.senders
    low = (counts - 1).div(2, rounding_mode="floor").clamp_max(trim)[:, None]
    dropped = (slots < low) | (slots >= counts[:, None] - low)
    kept = (~dropped).sum(1, keepdim=True).to(X)
    members, dropped = members.to(X.device), dropped.to(X.device)[:, :, None]

    def step(part: slice) -> None:
        own = at[:, part]
        values = torch.cat([own, own.new_full((1, own.shape[1]), torch.inf)])[members]
        mean = values.sort(1).values.masked_fill_(dropped, 0).sum(1).div_(kept)
        out[:, part] = X[:, part] + gamma * (mean - own)

    column_blocks.in_blocks(X, members.numel(), step, spread)
    return out
