"""No compression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.compression import Codec, compression

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run


@compression("none")
class Uncompressed(Codec):
    """No compression: C(z) = z."""

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """The numbers themselves."""
        return d * number

    def encode(self, z: torch.Tensor) -> torch.Tensor:
        """The bytes of the numbers."""
        from ngo.gossip.payload import to_bytes

        return to_bytes(z)

    def decode(self, payload: torch.Tensor) -> torch.Tensor:
        """The same numbers."""
        from ngo.gossip.payload import from_bytes

        return from_bytes(payload, self.dtype)
