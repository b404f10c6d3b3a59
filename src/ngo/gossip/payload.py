"""Numbers, and codes of a few bits, as bytes: the rows of a payload ``[n, bytes]``, uint8."""

from __future__ import annotations

from math import gcd

from ngo.common.lazy import nn, torch


def packed_size(d: int, bits: int) -> int:
    """How many bytes ``d`` codes of ``bits`` bits take: ⌈d · bits / 8⌉."""
    return (d * bits + 7) // 8


def to_bytes(numbers: torch.Tensor) -> torch.Tensor:
    """The bytes of each row ``[n, k]`` of numbers."""
    return numbers.contiguous().view(torch.uint8)


def from_bytes(payload: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The numbers of each row of bytes."""
    return payload.clone(memory_format=torch.contiguous_format).view(dtype)  # a clone is aligned


def _words(d: int, bits: int) -> tuple[int, int, int, torch.dtype]:
    """How codes form words; a word has the fewest codes that fill whole bytes.

    Returns the codes in a word, its bytes, the number of words for ``d`` codes, and a type that
    holds a word.
    """
    codes = 8 // gcd(bits, 8)
    size = bits * codes // 8
    return codes, size, -(-d // codes), torch.uint8 if size == 1 else torch.int64


def pack(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Codes ``[n, d]``, uint8 below 2^bits, one after another without gaps."""
    n, d = codes.shape
    each, size, count, kind = _words(d, bits)
    codes = nn.functional.pad(codes, (0, count * each - d)).view(n, count, each)
    words = torch.zeros(n, count, dtype=kind, device=codes.device)
    for k in range(each):
        words |= codes[..., k].to(kind) << k * bits
    kept = words.view(torch.uint8).view(n, count, kind.itemsize)[..., :size]
    return kept.reshape(n, count * size)[:, : packed_size(d, bits)]


def unpack(payload: torch.Tensor, bits: int, d: int) -> torch.Tensor:
    """The ``d`` codes of each row ``[n, d]``, uint8."""
    n, (each, size, count, kind) = len(payload), _words(d, bits)
    payload = nn.functional.pad(payload, (0, count * size - payload.shape[1])).view(n, count, size)
    words = nn.functional.pad(payload, (0, kind.itemsize - size)).view(kind)[..., 0]
    codes = torch.empty(n, count, each, dtype=torch.uint8, device=payload.device)
    for k in range(each):
        codes[..., k] = (words >> k * bits) & (1 << bits) - 1
    return codes.view(n, count * each)[:, :d]
