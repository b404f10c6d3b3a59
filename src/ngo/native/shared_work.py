"""C functions whose calls share their work: each thread makes one call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ngo.common.lazy import torch
from ngo.native.build import available
from ngo.native.pool import Map

# Elements for each thread. With fewer, the work would end before another thread wakes.
SHARE = 1 << 17


def fits(*matrices: torch.Tensor) -> bool:
    """Whether there is compiled code, and it takes these: contiguous float32 on a CPU."""
    plain = (x.is_cpu and x.dtype == torch.float32 and x.is_contiguous() for x in matrices)
    return all(plain) and available()


def share(call: Callable[[object, int], object], elements: int, work: int, spread: Map) -> None:
    """Make a ``call(taken, work)`` in each thread that ``elements`` need, at least SHARE for each.

    ``taken`` refers to an int64, initially 0, that counts what threads have claimed. ``work`` is
    the address of so many floats of the thread's own. A call returns when all is claimed.
    """
    taken, claimed = ctypes.c_int64(), []

    def part(_: int) -> None:
        if not claimed:
            memory = torch.empty(work)
            call(ctypes.byref(taken), memory.data_ptr())
            claimed.append(True)

    spread(part, -(-elements // SHARE))
