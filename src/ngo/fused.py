"""One gossip step as one Triton kernel: a single pass over the state.

Triton comes with torch's builds for NVIDIA cards; without it, :mod:`ngo.coupling` has the same
step in torch's own operations.
"""

from __future__ import annotations

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

COLUMNS = 1024  # of one program: 8 per thread of Triton's 4 warps


def available() -> bool:
    """Whether Triton is installed (the state has to lie on a GPU, too)."""
    return triton is not None


def gossip_step(
    X: torch.Tensor, W: torch.Tensor, gamma: float, p: float, at: torch.Tensor
) -> torch.Tensor:
    """The step of :func:`ngo.coupling.gossip_step`: X + γ Σ_j W_ij φ_p(at_j − at_i), ``[n, d]``.

    Each worker reads the rows of its neighbours, so an edge's φ is computed at both of its ends:
    on a GPU that is cheaper than to pass it on.
    """
    X, at = X.contiguous(), at.contiguous()
    n, d = X.shape
    i, j = torch.nonzero(W - torch.diag(W.diagonal()), as_tuple=True)  # sorted by i
    starts = torch.searchsorted(i, torch.arange(n + 1, device=i.device))
    new = torch.empty_like(X)
    _step[n, triton.cdiv(d, COLUMNS)](
        new,
        X,
        at,
        starts.to(X.device, torch.int32),
        j.to(X.device, torch.int32),
        (gamma * W[i, j]).to(X),
        d,
        2 * p - 1,
        COLUMNS,
    )
    return new


if triton is not None:

    @triton.jit
    def _step(new, x, at, starts, neighbours, weights, d, e, COLUMNS: tl.constexpr):
        i = tl.program_id(0)
        columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        inside = columns < d
        row = i.to(tl.int64) * d + columns
        own = tl.load(at + row, inside)
        total = tl.load(x + row, inside)
        for edge in range(tl.load(starts + i), tl.load(starts + i + 1)):
            j = tl.load(neighbours + edge).to(tl.int64)
            z = tl.load(at + j * d + columns, inside) - own
            pull = tl.exp2(tl.log2(tl.abs(z)) * e)
            pull = tl.where(z > 0, pull, tl.where(z < 0, -pull, 0.0))
            total += tl.load(weights + edge) * pull
        tl.store(new + row, total, inside)
