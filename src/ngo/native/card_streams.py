"""Random numbers of many workers on a GPU, which one kernel draws: SplitMix64.

A stream's state is one number of 64 bits. The k-th number of a draw is a hash of the state and k,
and the draw then adds to the state. So all numbers of all streams are known at once, and a CUDA
graph can draw them. Source: Steele, Lea and Flood 2014.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ngo.common.devices import sent
from ngo.common.lazy import Tensor, torch
from ngo.common.seeding import stream_seed

# What each number of a draw adds to the state; the shifts and factors of the hash.
STEP = 0x9E3779B97F4A7C15
HASH = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)


class CardStreams:
    """Streams with the states ``state`` int64 ``[…]``, which draws change in place.

    On a GPU with Triton a draw is one kernel, elsewhere some of torch's, with the same numbers.
    """

    def __init__(self, state: Tensor, rows: Any = ...) -> None:
        """Those of some ``rows`` of ``state``, by default all."""
        self.state, self._rows, self.device = state, rows, state.device

    @classmethod
    def of(cls, seed: int, name: str, workers: Iterable[int], device: Any) -> CardStreams:
        """The streams (seed, name, worker) of some workers, ``[n]``."""
        state = torch.tensor([stream_seed(seed, name, i) for i in workers])
        return cls(sent(state, torch.device(device)))

    @classmethod
    def joined(cls, parts: Sequence[CardStreams]) -> CardStreams:
        """All streams as one, of which the ``parts`` then have their rows."""
        whole = torch.cat([part.state for part in parts])
        for part, state in zip(parts, whole.split([len(x.state) for x in parts]), strict=True):
            part.state = state
        return cls(whole)

    def get_state(self) -> Tensor:
        """A copy of the states."""
        return self.state[self._rows].clone()

    def set_state(self, state: Tensor) -> None:
        """Go on from ``state``."""
        self.state[self._rows] = state.to(self.device)

    def uniform(self, shape: Sequence[int]) -> Tensor:
        """The next numbers of each stream, float32 ``[…, *shape]``: odd multiples of 2⁻²⁴ to 1."""
        state, count = self.state[self._rows], math.prod(shape)
        drawn = self._drawn(state, count).view(*state.shape, *shape)
        self.state[self._rows] += _signed(count * STEP)
        return drawn

    def normal(self, shape: Sequence[int]) -> Tensor:
        """The same with the normal distribution, by its inverse: up to 5.3 in size."""
        return torch.erfinv(2 * self.uniform(shape) - 1) * 2**0.5

    def _drawn(self, state: Tensor, count: int) -> Tensor:
        if state.is_cuda:
            from ngo.native import triton_kernels  # imports Triton

            if triton_kernels.available(self.device):
                return triton_kernels.uniform(state, count)
        places = torch.arange(1, count + 1, device=self.device)
        z = state[..., None] + places * _signed(STEP)
        for shift, factor in HASH:
            z = (z ^ (z >> shift & (1 << 64 - shift) - 1)) * _signed(factor)
        return (z >> 41 & 2**23 - 1).float().add_(0.5).mul_(2.0**-23)


def _signed(number: int) -> int:
    """The number modulo 2⁶⁴, as torch's int64 has it."""
    return (number + 2**63) % 2**64 - 2**63
