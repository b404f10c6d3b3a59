"""The linear step (p = 1): a matrix product."""

from __future__ import annotations

import torch

from ngo.common.transfers import kept_there
from ngo.gossip.steps import column_blocks
from ngo.native.pool import Map


def linear_step(
    X: torch.Tensor,
    W: torch.Tensor,
    gamma: float,
    *,
    at: torch.Tensor | None,
    out: torch.Tensor | None,
    spread: Map,
) -> torch.Tensor:
    """X − γL(W)X, or X − γL(W)Y where the differences are those of ``at`` = Y."""
    factor = (gamma * kept_there(W, X.device)).fill_diagonal_(0)
    factor.diagonal().sub_(factor.sum(1))
    if at is None or at is X:
        factor.diagonal().add_(1)
        return _product(factor.to(X), X, out, spread)
    factor = factor.to(X)
    new = torch.empty_like(X) if out is None else out

    def step(part: slice) -> None:
        new[:, part] = torch.addmm(X[:, part], factor, at[:, part])

    column_blocks.in_blocks(X, 4 * column_blocks.BLOCK, step, spread)
    return new


def mix(
    X: torch.Tensor, W: torch.Tensor, *, out: torch.Tensor | None = None, spread: Map
) -> torch.Tensor:
    """W X, in ``out`` (which may be ``X``) if it is given."""
    return _product(kept_there(W, X.device).to(X), X, out, spread)


def _product(
    factor: torch.Tensor, X: torch.Tensor, out: torch.Tensor | None, spread: Map
) -> torch.Tensor:
    new = torch.empty_like(X) if out is None else out

    def step(part: slice) -> None:
        if new.data_ptr() == X.data_ptr():
            new[:, part] = factor @ X[:, part]
        else:
            torch.mm(factor, X[:, part], out=new[:, part])

    # A product is cheap: handing a small block to another thread would cost as much.
    column_blocks.in_blocks(X, 4 * column_blocks.BLOCK, step, spread)
    return new
