"""Clipped gossip: a worker that is far off moves its neighbours by little.

This is ClippedGossip (He, Karimireddy and Jaggi 2022) for single entries. Theirs scales the whole
difference of two models to the length τ at most, which no coupling can do: it sees entries only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.fields import above
from ngo.common.settings import number
from ngo.gossip.coupling import coupling

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run

CLIP = {"clip": number("largest difference that counts in full", 1.0, above(0))}


@coupling("clipped", settings=CLIP)
def clipped(z: torch.Tensor, weights: torch.Tensor, gamma: float, run: Run) -> torch.Tensor:
    """γ W_ij z, each entry of z limited to ±``clip``."""
    return z.clamp(-run.clip, run.clip).mul_(weights).mul_(gamma)
