"""The draw of ``card_streams`` as one Triton kernel."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS = 1024  # of one program


def uniform(state: Tensor, count: int) -> Tensor:
    """The next ``count`` numbers of each stream, ``[…, count]``; the ``state`` stays."""
    state = state.contiguous()
    out = torch.empty(*state.shape, count, device=state.device)
    with torch.cuda.device_of(state):  # Triton launches on the current device
        _draw[(state.numel() * triton.cdiv(count, COLUMNS),)](
            out, state, state.numel(), count, COLUMNS
        )
    return out


@triton.jit
def _draw(out, state, n, count, COLUMNS: tl.constexpr):
    i = (tl.program_id(0) % n).to(tl.int64)
    columns = tl.program_id(0) // n * COLUMNS + tl.arange(0, COLUMNS)
    z = tl.load(state + i).to(tl.uint64) + (columns + 1).to(tl.uint64) * 0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    z = z ^ (z >> 31)
    drawn = ((z >> 41).to(tl.float32) + 0.5) * 2.0**-23
    tl.store(out + i * count + columns, drawn, columns < count)
