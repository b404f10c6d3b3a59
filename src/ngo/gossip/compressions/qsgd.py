"""Random rounding to a few levels (QSGD; Alistarh et al. 2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ngo.common.fields import whole, within
from ngo.gossip.compression import Codec, compression, packed_size

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run
    from ngo.native.pool import Map

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
            codes = compress.codes(z, s, self.streams)
        else:
            level = torch.empty_like(z)
            for row, stream in zip(level, self.streams, strict=True):
                row.uniform_(generator=stream)
            level.addcmul_(z.abs(), s / norm.clamp_min(torch.finfo(z.dtype).tiny))
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
        """In compiled code where that fits, but for rows out of range."""
        from ngo.native import compress

        others, s = list(range(len(x))), self.run.levels
        if _compiled(x, x_hat):
            others = compress.add_rounded(x, x_hat, s, s * self.tau, self.streams, spread=spread)
        for i in others:
            row = slice(i, i + 1)
            alone = QSGD(self.d, self.dtype, self.run, self.streams[row])
            Codec.add(alone, x[row], x_hat[row], spread)


def _compiled(*states: torch.Tensor) -> bool:
    """Whether compiled code draws and rounds these rows as torch would."""
    from ngo.native import compress
    from ngo.native.shared_work import fits

    return fits(*states) and compress.draws_as_torch()


def _norm(z: torch.Tensor) -> torch.Tensor:
    """The norms of the rows, ``[n, 1]``."""
    from ngo.native import compress

    if _compiled(z):
        return compress.row_sums(z)[:, 1:].sqrt().to(z.dtype)
    return z.norm(dim=1, keepdim=True)


def _in_range(z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The rows ``[n, d]``, their norms ``[n, 1]``, and the norms of the given rows.

    A row whose squares exceed the range of its type, or fall below it, is divided by its largest
    entry. Other rows do not change. A finite row's norm is at most the largest number.
    """
    import torch

    limits, norm = torch.finfo(z.dtype), _norm(z)
    outside = norm.isinf() | (norm < math.sqrt(limits.tiny / limits.eps))
    if not outside.any():
        return z, norm, norm
    largest = z.abs().amax(1, keepdim=True)
    outside &= largest.isfinite() & (largest > 0)
    z = z / torch.where(outside, largest, 1)
    scaled = _norm(z)
    return z, scaled, torch.where(outside, (scaled * largest).clamp(max=limits.max), scaled)
