"""Triton kernels for a GPU: a nonlinear gossip step, and the draw of ``card_streams``.

Triton is part of torch's builds for NVIDIA GPUs.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from verdicts.registry import in_a_line

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

LOG = logging.getLogger("ngo")

COLUMNS = 1024  # of one program: 8 for each thread of Triton's 4 warps


@cache
def available(device: torch.device) -> bool:
    """Whether Triton's kernels work on this GPU. The first call tries a tiny step.

    Triton needs a C compiler, Python's headers and the driver's library, and looks for them at its
    first launch. A failure is logged as one warning.
    """
    if triton is None:
        return False
    X, places = torch.zeros(2, 1, device=device), torch.arange(3, device=device)
    try:  # each of two workers receives from the other
        gossip_step(X, (places, 1 - places[:2], X[:, 0]), 0.1, 0.9, X, X).cpu()
    except Exception as error:  # Triton's own, a compiler's, the driver's
        LOG.warning("Triton's kernels fail, torch replaces them: %s", in_a_line(error))
        return False
    return True


def gossip_step(
    X: Tensor, rows: Sequence[Tensor], gamma: float, p: float, at: Tensor, out: Tensor
) -> Tensor:
    """The new state X + γ Σ_j W_ij φ_p(at_j − at_i), ``[n, d]``, in ``out``.

    ``rows`` are the starts ``[n + 1]`` of the rows of W, the senders j ``[e]`` and the weights, in
    CSR. The kernel computes φ_p of an edge at both of its ends. On a GPU that is cheaper than
    exchanging it between programs.
    """
    X, at = X.contiguous(), at.contiguous()
    n, d = X.shape
    starts, senders, weights = rows
    read = {x.untyped_storage().data_ptr() for x in (X, at)}
    free = out.is_contiguous() and out.untyped_storage().data_ptr() not in read
    new = out if free else torch.empty_like(X)
    with torch.cuda.device_of(X):  # Triton launches on the current device
        # On one axis, since the others have at most 65,535 programs; all rows of a block of columns
        # are neighbours.
        _step[(n * triton.cdiv(d, COLUMNS),)](
            new, X, at, starts, senders, gamma * weights, n, d, 2 * p - 1, COLUMNS
        )
    return new if free else out.copy_(new)


def uniform(state: Tensor, count: int) -> Tensor:
    """``CardStreams.uniform``: the next ``count`` numbers of each stream; the ``state`` stays."""
    n, out = state.numel(), torch.empty(*state.shape, count, device=state.device)
    with torch.cuda.device_of(state):
        _draw[(n * triton.cdiv(count, COLUMNS),)](out, state.contiguous(), n, count, COLUMNS)
    return out


if triton is not None:

    @triton.jit
    def _draw(out, state, n, count, COLUMNS: tl.constexpr):
        i = (tl.program_id(0) % n).to(tl.int64)
        columns = tl.program_id(0) // n * COLUMNS + tl.arange(0, COLUMNS)
        z = tl.load(state + i).to(tl.uint64) + (columns + 1).to(tl.uint64) * 0x9E3779B97F4A7C15
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB
        drawn = (((z ^ (z >> 31)) >> 41).to(tl.float32) + 0.5) * 2.0**-23
        tl.store(out + i * count + columns, drawn, columns < count)

    @triton.jit
    def _step(new, x, at, starts, senders, weights, n, d, e, COLUMNS: tl.constexpr):
        i = tl.program_id(0) % n
        columns = tl.program_id(0) // n * COLUMNS + tl.arange(0, COLUMNS)
        inside = columns < d
        row = i.to(tl.int64) * d + columns
        here = tl.load(at + row, inside)
        total = tl.load(x + row, inside)
        for edge in range(tl.load(starts + i), tl.load(starts + i + 1)):
            weight = tl.load(weights + edge)
            if weight != 0:
                j = tl.load(senders + edge)
                z = tl.load(at + j * d + columns, inside) - here
                size = tl.abs(z)
                tiny = size < 2.0**-126  # subnormal: the GPU's log2 flushes it to 0
                log = tl.log2(tl.where(tiny, size * 2.0**32, size)) - tl.where(tiny, 32.0, 0.0)
                pull = tl.where(e == 0, 1.0, tl.exp2(log * e))
                pull = tl.where(z > 0, pull, tl.where(z < 0, -pull, z))  # z is 0 or NaN
                total += weight * pull
        tl.store(new + row, total, inside)
