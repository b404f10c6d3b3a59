"""The signs of a row, and one scale (Karimireddy et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.compression import Codec, compression, packed_size

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run
    from ngo.native.pool import Map


@compression("sign")
class Sign(Codec):
    """C(z) = sign(z) · mean|z|: one bit an entry, and one number (Karimireddy et al. 2019).

    sign(0) = 1. δ = ‖z‖₁² / (d ‖z‖₂²).
    """

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """The scale, and a bit for each entry."""
        return number + packed_size(d, 1)

    def encode(self, z: torch.Tensor) -> torch.Tensor:
        """The scale, then 1 for each negative entry."""
        import torch

        from ngo.gossip.payload import pack, to_bytes

        scale = _scale(z)
        return torch.cat([to_bytes(scale), pack((z < 0).view(torch.uint8), 1)], 1)

    def decode(self, payload: torch.Tensor) -> torch.Tensor:
        """The scale with the sign of each entry."""
        import torch

        from ngo.gossip.payload import from_bytes, unpack

        scale = from_bytes(payload[:, : self.dtype.itemsize], self.dtype)
        negative = unpack(payload[:, self.dtype.itemsize :], 1, self.d)
        return (1 - 2 * negative.view(torch.int8)) * scale

    def add(self, x: torch.Tensor, x_hat: torch.Tensor, spread: Map) -> None:
        """In compiled code where that fits."""
        from ngo.native import compress
        from ngo.native.shared_work import fits

        if fits(x, x_hat):
            compress.add_signs(x, x_hat, spread=spread)
        else:
            super().add(x, x_hat, spread)


def _scale(z: torch.Tensor) -> torch.Tensor:
    """The mean of |z| in each row, ``[n, 1]``."""
    from ngo.native import compress
    from ngo.native.shared_work import fits

    if fits(z):
        return (compress.row_sums(z)[:, :1] / z.shape[1]).to(z.dtype)
    return z.abs().mean(1, keepdim=True)
