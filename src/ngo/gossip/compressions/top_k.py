"""The largest entries of a row (Alistarh et al. 2018; Stich et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.compression import KEPT, Codec, add_entries, compression, kept_entries
from ngo.native.pool import Map, in_order

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run

INDEX_BYTES = 4


@compression("top_k", options=KEPT)
class TopK(Codec):
    """The k = ``kept_share`` · d entries with the largest |z|, and 0 for the others.

    δ = k/d. Of equal entries, compiled code takes the first ones, and torch any. The payload is
    their values, and their indices as int32.
    """

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """A value and an index for each kept entry."""
        return kept_entries(d, run) * (number + INDEX_BYTES)

    def encode(self, z: torch.Tensor) -> torch.Tensor:
        """Values, then indices."""
        import torch

        from ngo.gossip.payload import to_bytes

        largest = self._largest(z, torch.zeros_like(z[:1]))
        return torch.cat([to_bytes(z.gather(1, largest)), to_bytes(largest.int())], 1)

    def decode(self, payload: torch.Tensor) -> torch.Tensor:
        """Values at their indices; 0 elsewhere."""
        import torch

        from ngo.gossip.payload import from_bytes

        split = payload.shape[1] - kept_entries(self.d, self.run) * INDEX_BYTES
        values = from_bytes(payload[:, :split], self.dtype)
        indices = from_bytes(payload[:, split:], torch.int32).long()
        return values.new_zeros(len(payload), self.d).scatter_(1, indices, values)

    def add(self, x: torch.Tensor, x_hat: torch.Tensor, spread: Map) -> None:
        """Only the entries that are kept change."""
        add_entries(x, x_hat, self._largest(x, x_hat, spread), spread)

    def _largest(self, x: torch.Tensor, h: torch.Tensor, spread: Map = in_order) -> torch.Tensor:
        """The places ``[n, k]`` of the largest |x − h|; ``h`` may be one row."""
        from ngo.native import compress
        from ngo.native.shared_work import fits

        k = kept_entries(self.d, self.run)
        if fits(x, h):
            return compress.largest(x, h, k, spread=spread)
        return (x - h).abs().topk(k, sorted=False).indices
