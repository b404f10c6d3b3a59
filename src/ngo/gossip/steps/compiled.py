"""The nonlinear step in compiled code, for float32 on a CPU."""

from __future__ import annotations

import ctypes

import torch

from ngo.native.build import available
from ngo.native.gossip_step import gossip
from ngo.native.pool import Map

# Elements of the state for each thread. With fewer, the step would end before a thread wakes.
SHARE = 1 << 17


def fits(*states: torch.Tensor) -> bool:
    """Whether the compiled step takes these states."""
    plain = (x.is_cpu and x.dtype == torch.float32 and x.is_contiguous() for x in states)
    return all(plain) and available()


def compiled_step(
    X: torch.Tensor,
    W: torch.Tensor,
    gamma: float,
    e: float,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """The step with |z|^e. Threads take blocks of columns until none is left."""
    W = W.double().contiguous()
    taken = ctypes.c_int64()

    def step(_: int) -> None:
        if taken.value < X.shape[1]:
            gossip(at, X, out, W, gamma, e, taken)

    spread(step, -(-X.numel() // SHARE))
    return out
