"""Numbers, and codes of a few bits, as bytes: the rows of a payload ``[n, bytes]``, uint8."""

from __future__ import annotations

import torch
from torch.nn.functional import pad


def to_bytes(numbers: torch.Tensor) -> torch.Tensor:
    """The bytes of each row ``[n, k]`` of numbers."""
    return numbers.contiguous().view(torch.uint8)


def from_bytes(payload: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The numbers whose bytes the rows are."""
    return payload.clone(memory_format=torch.contiguous_format).view(dtype)  # a clone is aligned


def packed_size(d: int, bits: int) -> int:
    """How many bytes ``d`` codes of ``bits`` bits take: ⌈d · bits / 8⌉."""
    return (d * bits + 7) // 8


def pack(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Codes ``[n, d]``, uint8 below 2^bits, one after another without gaps.

    Eight codes make a word of 8 · ``bits`` bits, whose first ``bits`` bytes are kept.
    """
    n, d = codes.shape
    groups = packed_size(d, 1)
    codes = pad(codes, (0, 8 * groups - d)).view(n, groups, 8)
    words = torch.zeros(n, groups, dtype=torch.int64, device=codes.device)
    for k in range(8):
        words |= codes[..., k].long() << k * bits
    kept = words.view(torch.uint8).view(n, groups, 8)[..., :bits]
    return kept.reshape(n, groups * bits)[:, : packed_size(d, bits)]


def unpack(payload: torch.Tensor, bits: int, d: int) -> torch.Tensor:
    """The ``d`` codes of each row ``[n, d]``, uint8."""
    n, groups = len(payload), packed_size(d, 1)
    payload = pad(payload, (0, groups * bits - payload.shape[1])).view(n, groups, bits)
    words = pad(payload, (0, 8 - bits)).view(torch.int64)[..., 0]
    codes = torch.empty(n, groups, 8, dtype=torch.uint8, device=payload.device)
    for k in range(8):
        codes[..., k] = (words >> k * bits) & (1 << bits) - 1
    return codes.view(n, groups * 8)[:, :d]
