"""The linear step (p = 1): a matrix product."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ngo.common.transfers import kept_there
from ngo.gossip.steps import column_blocks
from ngo.native.pool import Map


def linear_step(
    X: torch.Tensor,
    W: torch.Tensor,
    gamma: float,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """X − γL(W)Y, with the differences of ``at`` = Y; ``at`` may be ``X``."""
    factor = (gamma * kept_there(W, X.device)).fill_diagonal_(0)
    factor.diagonal().sub_(factor.sum(1))
    if at is X:
        factor.diagonal().add_(1)
    factor = factor.to(X)

    def step(part: slice) -> None:
        if at is not X:
            out[:, part] = torch.addmm(X[:, part], factor, at[:, part])
        elif out.data_ptr() == X.data_ptr():
            out[:, part] = factor @ X[:, part]
        else:
            torch.mm(factor, X[:, part], out=out[:, part])

    _in_large_blocks(X, step, spread)
    return out


def mix(X: torch.Tensor, W: torch.Tensor, *, spread: Map) -> None:
    """Replace ``X`` by W X."""
    factor = kept_there(W, X.device).to(X)

    def step(part: slice) -> None:
        X[:, part] = factor @ X[:, part]

    _in_large_blocks(X, step, spread)


def _in_large_blocks(X: torch.Tensor, step: Callable[[slice], None], spread: Map) -> None:
    """A product is cheap: handing a small block to another thread would cost as much."""
    column_blocks.in_blocks(X, 4 * column_blocks.BLOCK, step, spread)
