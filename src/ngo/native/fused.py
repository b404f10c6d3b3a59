"""One nonlinear gossip step on a GPU, as one Triton kernel.

Triton is part of torch's builds for NVIDIA GPUs.
"""

from __future__ import annotations

import logging
from functools import cache, lru_cache

import torch

from ngo.common.registry import in_a_line
from ngo.common.transfers import sent

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

LOG = logging.getLogger("ngo")

COLUMNS = 1024  # of one program: 8 for each thread of Triton's 4 warps


@cache
def available(device: torch.device) -> bool:
    """Whether the kernel works on this GPU. The first call tries a tiny step.

    Triton needs a C compiler, Python's headers and the driver's library, and looks for them at its
    first launch. A failure is logged as one warning.
    """
    if triton is None:
        return False
    X, W = torch.zeros(2, 1, device=device), torch.full((2, 2), 0.5, dtype=torch.float64)
    try:
        gossip_step(X, W, 0.1, 0.9, X).cpu()
    except Exception as error:  # Triton's own, a compiler's, the driver's
        LOG.warning("gossip: Triton's kernel fails, torch replaces it: %s", in_a_line(error))
        return False
    return True


def gossip_step(
    X: torch.Tensor, W: torch.Tensor, gamma: float, p: float, at: torch.Tensor
) -> torch.Tensor:
    """The new state X + γ Σ_j W_ij φ_p(at_j − at_i), ``[n, d]``.

    The kernel computes φ_p of an edge at both of its ends. On a GPU that is cheaper than
    exchanging it between programs.
    """
    X, at = X.contiguous(), at.contiguous()
    n, d = X.shape
    starts, neighbours, weights = _edges(W, W._version, X.device)
    new = torch.empty_like(X)
    with torch.cuda.device_of(X):  # Triton launches on the current device
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
    """The directed edges of ``W`` on ``device``, sorted by their source: the index of each worker's
    first edge, the edges' targets, and their weights. The cache serves fixed topologies.
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
            tiny = size < 2.0**-126  # subnormal: the GPU's log2 flushes it to 0
            log = tl.log2(tl.where(tiny, size * 2.0**32, size)) - tl.where(tiny, 32.0, 0.0)
            pull = tl.where(e == 0, 1.0, tl.exp2(log * e))
            pull = tl.where(z > 0, pull, tl.where(z < 0, -pull, z))  # z is 0 or NaN
            total += tl.load(weights + edge) * pull
        tl.store(new + row, total, inside)
