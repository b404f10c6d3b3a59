"""Compressions of rows z = x − h on a CPU, compiled from ``compress.c``.

``x`` and ``h`` are contiguous and float32, ``[n, d]``; ``h`` may also be one row ``[1, d]``. Other
tensors raise ValueError. ``spread`` distributes the rows over threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from ngo.common.lazy import torch
from ngo.native import build
from ngo.native.threads import POINTER, Map, check_tensors, in_order, share

STATE_BYTES = 5056  # of torch's generator on a CPU


def row_sums(z: torch.Tensor) -> torch.Tensor:
    """Σ|z| and Σz² of each row, float64 ``[n, 2]``."""
    sums = z.new_empty(len(z), 2, dtype=torch.float64)
    _run("ngo_row_sums", in_order, z, torch.zeros_like(z[:1]), sums)
    return sums


def add_signs(x: torch.Tensor, h: torch.Tensor, *, spread: Map) -> None:
    """Let h be h + sign(z) · mean|z|, with sign(0) = 1."""
    check_tensors(tuple(x.shape), h=h)
    _run("ngo_add_signs", spread, x, h)


def codes(z: torch.Tensor, levels: int, streams: Sequence[torch.Generator]) -> torch.Tensor:
    """Codes ``[n, d]``, uint8, of z: its level, and a higher bit that is 1 where z < 0.

    levels · |z| / ‖z‖ is rounded at random to its level, one of its two neighbours from 0 to
    ``levels``. Each row draws from its stream what torch would draw (see ``draws_as_torch``).
    """
    rounded = z.new_empty(z.shape, dtype=torch.uint8)
    add_rounded(z, torch.zeros_like(z[:1]), levels, 1.0, streams, rounded)
    return rounded


def add_rounded(
    x: torch.Tensor,
    h: torch.Tensor,
    levels: int,
    divisor: float,
    streams: Sequence[torch.Generator],
    rounded: torch.Tensor | None = None,
    *,
    spread: Map = in_order,
) -> list[int]:
    """Let h be h + sign(z) · level · ‖z‖ / ``divisor``, with the level of ``codes``.

    Rows whose squares exceed the range of their type, or fall below it, do not change, nor do their
    streams. Returns these rows. With ``rounded``, uint8 ``[n, d]``, it has the codes, and h does
    not change.
    """
    if rounded is None:
        check_tensors(tuple(x.shape), h=h)
    if len(streams) != len(x):
        raise ValueError(f"there must be a stream for each of {len(x)} rows, not {len(streams)}")
    done = x.new_empty(len(x), dtype=torch.uint8)
    states = [stream.get_state() for stream in streams]
    addresses = (POINTER * len(states))(*(state.data_ptr() for state in states))
    negative = ctypes.c_uint8(1 << levels.bit_length())
    rounding = levels, ctypes.c_float(divisor), addresses, rounded, negative, done
    _run("ngo_round_at_random", spread, x, h, *rounding)
    for stream, state in zip(streams, states, strict=True):
        stream.set_state(state)
    return (done == 0).nonzero().flatten().tolist()


@cache
def draws_as_torch() -> bool:
    """Whether the compiled code draws what torch does, whose state has no documented form."""
    ours, torchs = (torch.Generator().manual_seed(1) for _ in range(2))
    if not build.available() or torchs.get_state().numel() != STATE_BYTES:
        return False
    alike = True
    for d, levels in ((400, 10), (1600, 20)):  # levels · |z| / ‖z‖ is 0.5
        rounded = codes(torch.ones(1, d), levels, [ours])
        alike &= torch.equal(rounded == 1, torch.rand(1, d, generator=torchs) >= 0.5)
    return alike and torch.equal(ours.get_state(), torchs.get_state())


def largest(x: torch.Tensor, h: torch.Tensor, k: int, *, spread: Map = in_order) -> torch.Tensor:
    """The places ``[n, k]`` of the k largest |z| of each row, in no order.

    Of equal entries the first ones are taken. NaN is larger than all numbers.
    """
    if not 1 <= k <= x.shape[1]:
        raise ValueError(f"k must be from 1 to {x.shape[1]}; it is {k}")
    indices = x.new_empty(len(x), k, dtype=torch.int64)
    _run("ngo_largest", spread, x, h, k, indices)
    return indices


def add_entries(x: torch.Tensor, h: torch.Tensor, indices: torch.Tensor, *, spread: Map) -> None:
    """Let h be h + (x − h) at ``indices`` ``[n, k]``, k different columns of each row.

    An index that is no column raises ValueError.
    """
    (n, d), k = x.shape, indices.shape[1]
    check_tensors((n, d), h=h)
    check_tensors((n, k), torch.int64, indices=indices)
    if indices.numel() and not 0 <= indices.min() <= indices.max() < d:
        raise ValueError(f"indices must be from 0 to {d - 1}")
    _run("ngo_add_entries", spread, x, h, k, indices)


def _run(name: str, spread: Map, x: torch.Tensor, h: torch.Tensor, *others: Any) -> None:
    """Call a function of the library in each thread."""
    n, d = x.shape
    check_tensors((n, d), x=x)
    check_tensors((1 if len(h) == 1 else n, d), h=h)
    rows = x, h, 0 if len(h) == 1 else d, n, d
    share(name, *rows, *others, elements=n * d, work=2 * d, spread=spread)
