"""Random rounding to a few levels (QSGD; Alistarh et al. 2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ngo.common.fields import whole, within
from ngo.gossip.compression import Codec, compression, packed_size
from ngo.native.pool import Map, in_order

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run

LEVELS = {"levels": whole("levels other than 0 to which an entry is rounded", 7, within(1, 127))}


@compression("qsgd", options=LEVELS)
class QSGD(Codec):
    """QSGD (Alistarh et al. 2017): |z|/‖z‖ is rounded at random to a multiple of 1/``levels``.

    Let ξ be the rounded value and s = ``levels``. Then ‖z‖ sign(z) ξ is unbiased. C(z) is this row
    divided by c = 1 + min(d/s², √d/s), a contraction with δ = 1/c (Koloskova et al. 2019). The
    payload is ‖z‖, and a sign and a level for each entry.
    """

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """The norm, and a sign and a level for each entry, in whole bits."""
        return number + packed_size(d, 1 + run.levels.bit_length())

    @property
    def tau(self) -> float:
        """c, by which an unbiased row is divided (τ in Koloskova et al. 2019)."""
        s = self.run.levels
        return 1 + min(self.d / s**2, math.sqrt(self.d) / s)

    def encode(self, z: torch.Tensor) -> torch.Tensor:
        """The norm, then the codes: the sign is the highest bit."""
        import torch

        from ngo.gossip.payload import pack, to_bytes
        from ngo.native import compress

        s = self.run.levels
        z, norm, original = _in_range(z)
        if _compiled(z):
            zero = torch.zeros_like(z[0])
            codes = compress.round_at_random(z, zero, s / _positive(norm), None, s, self.streams)
        else:
            level = torch.empty_like(z)
            for row, stream in zip(level, self.streams, strict=True):
                row.uniform_(generator=stream)
            level.addcmul_(z.abs(), s / _positive(norm))
            codes = level.byte().clamp_(max=s)  # rounded down; only a rounding error exceeds s
            codes |= (z < 0).view(torch.uint8) << s.bit_length()
        return torch.cat([to_bytes(original), pack(codes, 1 + s.bit_length())], 1)

    def decode(self, payload: torch.Tensor) -> torch.Tensor:
        """‖z‖ · sign · level / (s c)."""
        import torch

        from ngo.gossip.payload import from_bytes, unpack

        s = self.run.levels
        bits = s.bit_length()
        norm = from_bytes(payload[:, : self.dtype.itemsize], self.dtype)
        codes = unpack(payload[:, self.dtype.itemsize :], 1 + bits, self.d)
        level, sign = (codes & (1 << bits) - 1).view(torch.int8), (codes >> bits).view(torch.int8)
        return level.mul_(1 - 2 * sign) * (norm / (s * self.tau))

    def add(self, x: torch.Tensor, x_hat: torch.Tensor, spread: Map) -> None:
        """In compiled code where that fits and no row is out of range."""
        from ngo.native import compress

        s = self.run.levels
        norm = _norm(x, x_hat, spread) if _compiled(x, x_hat) else None
        if norm is None or _outside(norm).any():
            super().add(x, x_hat, spread)
        else:
            factors, units = s / _positive(norm), norm / (s * self.tau)
            compress.round_at_random(x, x_hat, factors, units, s, self.streams, spread=spread)


def _compiled(*states: torch.Tensor) -> bool:
    """Whether compiled code draws and rounds these rows as torch would."""
    from ngo.native import compress

    return compress.fits(*states) and compress.draws_as_torch()


def _norm(x: torch.Tensor, h: torch.Tensor, spread: Map = in_order) -> torch.Tensor:
    """The norms of the rows x − h, ``[n, 1]``; ``h`` may be one row."""
    from ngo.native import compress

    if _compiled(x, h):
        return compress.row_sums(x, h, spread=spread)[:, 1:].sqrt().to(x.dtype)
    return (x - h).norm(dim=1, keepdim=True)


def _positive(norm: torch.Tensor) -> torch.Tensor:
    """The norm, or the smallest number in place of 0."""
    import torch

    return norm.clamp_min(torch.finfo(norm.dtype).tiny)


def _outside(norm: torch.Tensor) -> torch.Tensor:
    """Whether the squares of a row exceed the range of its type, or fall below it."""
    import torch

    limits = torch.finfo(norm.dtype)
    return norm.isinf() | (norm < math.sqrt(limits.tiny / limits.eps))


def _in_range(z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The rows ``[n, d]``, their norms ``[n, 1]``, and the norms of the given rows.

    A row whose squares exceed the range of its type, or fall below it, is divided by its largest
    entry. Other rows do not change. A finite row's norm is at most the largest number.
    """
    import torch

    zero, most = torch.zeros_like(z[0]), torch.finfo(z.dtype).max
    norm = _norm(z, zero)
    outside = _outside(norm)
    if not outside.any():
        return z, norm, norm
    largest = z.abs().amax(1, keepdim=True)
    outside &= largest.isfinite() & (largest > 0)
    z = z / torch.where(outside, largest, 1)
    scaled = _norm(z, zero)
    return z, scaled, torch.where(outside, (scaled * largest).clamp(max=most), scaled)
