"""Random entries of a row (Stich et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.compression import KEPT, Codec, add_entries, compression, kept_entries

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run
    from ngo.native.pool import Map

SEED_BYTES = 8


@compression("random_k", options=KEPT)
class RandomK(Codec):
    """k = ``kept_share`` · d random entries of z, and 0 for the others (Stich et al. 2018).

    Each set of k entries is equally likely. δ = k/d. (d/k) C(z) is unbiased. The payload is the
    values and a seed, from which the receiver draws the same indices.
    """

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """A value for each kept entry, and the seed."""
        return kept_entries(d, run) * number + SEED_BYTES

    def encode(self, z: torch.Tensor) -> torch.Tensor:
        """Values, then the seed, drawn from the stream of the row."""
        import torch

        from ngo.gossip.payload import to_bytes

        seeds = self._seeds()
        values = z.gather(1, self._indices(seeds))
        return torch.cat([to_bytes(values), to_bytes(seeds).to(z.device)], 1)

    def decode(self, payload: torch.Tensor) -> torch.Tensor:
        """The values at the indices drawn from the seed; 0 elsewhere."""
        import torch

        from ngo.gossip.payload import from_bytes

        values = from_bytes(payload[:, :-SEED_BYTES], self.dtype)
        indices = self._indices(from_bytes(payload[:, -SEED_BYTES:], torch.int64))
        return values.new_zeros(len(payload), self.d).scatter_(1, indices, values)

    def add(self, x: torch.Tensor, x_hat: torch.Tensor, spread: Map) -> None:
        """Only the drawn entries change."""
        add_entries(x, x_hat, self._indices(self._seeds()), spread)

    def _seeds(self) -> torch.Tensor:
        """A seed for each row ``[n, 1]``, drawn from its stream."""
        import torch

        return torch.stack(
            [
                torch.randint(2**63 - 1, (1,), generator=stream, device=stream.device)
                for stream in self.streams
            ]
        )

    def _indices(self, seeds: torch.Tensor) -> torch.Tensor:
        """The indices ``[n, k]`` drawn from the seeds ``[n, 1]``."""
        import numpy as np
        import torch

        k = kept_entries(self.d, self.run)
        drawn = np.empty((len(seeds), k), dtype=np.int64)
        for row, seed in zip(drawn, seeds.flatten().tolist(), strict=True):
            row[:] = np.random.default_rng(seed).choice(self.d, k, replace=False, shuffle=False)
        return torch.from_numpy(drawn).to(seeds.device)
