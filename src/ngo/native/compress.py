"""Compressions of rows z = x − h on a CPU, compiled from ``compress.c``.

``x`` and ``h`` are contiguous and float32, ``[n, d]``; ``h`` may also be one row ``[d]``. Other
tensors raise ValueError. ``spread`` distributes the rows over threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from ngo.native import build
from ngo.native.arguments import POINTER, SIZE, check_tensor, pointers
from ngo.native.elementwise import SHARE
from ngo.native.pool import Map, in_order

ROWS = [POINTER, POINTER, SIZE, SIZE, SIZE]
ROW_SUMS = ADD_SIGNS = [*ROWS, *[POINTER] * 3]
ROUND = [*ROWS, SIZE, *[POINTER] * 4, ctypes.c_uint8, *[POINTER] * 2]
LARGEST = [*ROWS, SIZE, *[POINTER] * 3]

STATE_BYTES = 5056  # of torch's generator on a CPU


def fits(*states: torch.Tensor) -> bool:
    """Whether there is compiled code, and it takes these tensors."""
    plain = (x.is_cpu and x.dtype == torch.float32 and x.is_contiguous() for x in states)
    return all(plain) and build.available()


def row_sums(x: torch.Tensor, h: torch.Tensor, *, spread: Map = in_order) -> torch.Tensor:
    """Σ|z| and Σz² of each row, float64 ``[n, 2]``."""
    sums = x.new_empty(len(x), 2, dtype=torch.float64)
    _run("ngo_row_sums", ROW_SUMS, spread, x, h, *pointers(sums))
    return sums


def add_signs(x: torch.Tensor, h: torch.Tensor, scales: torch.Tensor, *, spread: Map) -> None:
    """Let h be h + sign(z) · scale, with sign(0) = 1 and ``scales`` ``[n, 1]``."""
    check_tensor("h", h, tuple(x.shape))
    check_tensor("scales", scales, (len(x), 1))
    _run("ngo_add_signs", ADD_SIGNS, spread, x, h, *pointers(scales))


def round_at_random(
    x: torch.Tensor,
    h: torch.Tensor,
    factors: torch.Tensor,
    units: torch.Tensor | None,
    levels: int,
    streams: Sequence[torch.Generator],
    *,
    spread: Map = in_order,
) -> torch.Tensor:
    """Round |z| · factor at random to a level, one of its two neighbours from 0 to ``levels``.

    Each row draws from its stream what torch would draw (see ``draws_as_torch``). With ``units``
    ``[n, 1]``, h ← h + sign(z) · level · unit. Without, the result is codes ``[n, d]``, uint8: the
    level, and a higher bit that is 1 where z < 0.
    """
    for name, column in {"factors": factors, "units": factors if units is None else units}.items():
        check_tensor(name, column, (len(x), 1))
    if len(streams) != len(x) or (units is not None and h.shape != x.shape):
        raise ValueError(f"there must be a stream for each row, and a row of h to add to: {len(x)}")
    codes = x.new_empty(x.shape if units is None else 0, dtype=torch.uint8)
    states = [stream.get_state() for stream in streams]
    rounding = (levels, *pointers(factors, units), (POINTER * len(states))(*pointers(*states)))
    code = (None if units is not None else codes.data_ptr(), 1 << levels.bit_length())
    _run("ngo_round_at_random", ROUND, spread, x, h, *rounding, *code)
    for stream, state in zip(streams, states, strict=True):
        stream.set_state(state)
    return codes


@cache
def draws_as_torch() -> bool:
    """Whether the compiled code draws what torch does, whose state has no documented form."""
    mine, its = (torch.Generator().manual_seed(1) for _ in range(2))
    if not build.available() or its.get_state().numel() != STATE_BYTES:
        return False
    one, alike = torch.ones(1, 1), True
    for d in (700, 1500):
        z = torch.full((1, d), 0.5)
        found = round_at_random(z, torch.zeros(d), one, None, 1, [mine], spread=in_order)
        alike &= torch.equal(found == 1, torch.rand(1, d, generator=its) >= 0.5)
    return alike and torch.equal(mine.get_state(), its.get_state())


def largest(x: torch.Tensor, h: torch.Tensor, k: int, *, spread: Map = in_order) -> torch.Tensor:
    """The places ``[n, k]`` of the k largest |z| of each row, in no order.

    Of equal entries the first ones are taken. NaN is larger than all numbers.
    """
    if not 1 <= k <= x.shape[1]:
        raise ValueError(f"k must be from 1 to {x.shape[1]}; it is {k}")
    indices = x.new_empty(len(x), k, dtype=torch.int64)
    _run("ngo_largest", LARGEST, spread, x, h, k, *pointers(indices))
    return indices


def _run(
    name: str, types: Sequence[type], spread: Map, x: torch.Tensor, h: torch.Tensor, *others: Any
) -> None:
    """Call a function of the library in each thread."""
    n, d = x.shape
    check_tensor("x", x, (n, d))
    check_tensor("h", h, (d,) if h.dim() == 1 else (n, d))
    taken = ctypes.c_int64()

    def run(_: int) -> None:
        work = x.new_empty(d, dtype=torch.int64)
        rows = (*pointers(x, h), 0 if h.dim() == 1 else d, n, d)
        build.function(name, types)(*rows, *others, ctypes.byref(taken), work.data_ptr())

    spread(run, min(n, -(-n * d // SHARE)))
