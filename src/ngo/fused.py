"""One gossip step as one Triton kernel: a single pass over the state.

Triton comes with torch's builds for NVIDIA cards; without it, :mod:`ngo.coupling` has the same
step in torch's own operations.
"""

from __future__ import annotations

import sys
from functools import cache, lru_cache

import torch

from ngo.registry import in_a_line
from ngo.transfers import sent

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

COLUMNS = 1024  # of one program: 8 per thread of Triton's 4 warps


@cache
def available(device: torch.device) -> bool:
    """Whether the kernel runs on that GPU: one tiny step is tried, once.

    Triton may be there, and lack a C compiler, Python's headers or the driver's library, which it
    looks for at its first launch. A line on standard error says so.
    """
    if triton is None:
        return False
    X, W = torch.zeros(2, 1, device=device), torch.full((2, 2), 0.5, dtype=torch.float64)
    try:
        gossip_step(X, W, 0.1, 0.9, X).cpu()
    except Exception as error:  # Triton's own, a compiler's, the driver's
        print(f"gossip: without Triton's kernel, which fails: {in_a_line(error)}", file=sys.stderr)
        return False
    return True


def gossip_step(
    X: torch.Tensor, W: torch.Tensor, gamma: float, p: float, at: torch.Tensor
) -> torch.Tensor:
    """The step of :func:`ngo.coupling.gossip_step`: X + γ Σ_j W_ij φ_p(at_j − at_i), ``[n, d]``.

    Each worker reads the rows of its neighbours, so an edge's φ is computed at both of its ends:
    on a GPU that is cheaper than to pass it on.
    """
    X, at = X.contiguous(), at.contiguous()
    n, d = X.shape
    starts, neighbours, weights = _edges(W, W._version, X.device)
    new = torch.empty_like(X)
    with torch.cuda.device_of(X):  # Triton launches on the current one
        _step[n, triton.cdiv(d, COLUMNS)](
            new,
            X,
            at,
            starts,
            neighbours,
            (gamma * weights).to(X.dtype),
            d,
            2 * p - 1,
            COLUMNS,
        )
    return new


@lru_cache(maxsize=8)
def _edges(W: torch.Tensor, version: int, device: torch.device) -> tuple[torch.Tensor, ...]:
    """The directed edges of ``W`` on ``device``, sorted by their first end: where those of each
    worker start, their other ends, and their weights. A fixed topology's are made only once.
    """
    i, j = torch.nonzero(W - torch.diag(W.diagonal()), as_tuple=True)
    starts = torch.searchsorted(i, torch.arange(len(W) + 1, device=i.device))
    edges = starts.to(torch.int32), j.to(torch.int32), W[i, j]
    return tuple(sent(x, device) for x in edges)


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
            size = tl.abs(z)
            tiny = size < 2.0**-126  # without a leading 1, which the GPU's log2 takes for 0
            log = tl.log2(tl.where(tiny, size * 2.0**32, size)) - tl.where(tiny, 32.0, 0.0)
            pull = tl.where(e == 0, 1.0, tl.exp2(log * e))
            pull = tl.where(z > 0, pull, tl.where(z < 0, -pull, z))  # 0 and NaN stay
            total += tl.load(weights + edge) * pull
        tl.store(new + row, total, inside)
