"""Steps in compiled code, for float32 on a CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch

from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native import gossip_step
from ngo.native.build import available
from ngo.native.gossip_step import Limit
from ngo.native.pool import Map

# Elements of the state for each thread. With fewer, the step would end before a thread wakes.
SHARE = 1 << 17


def fits(*states: torch.Tensor) -> bool:
    """Whether the compiled steps take these states."""
    plain = (x.is_cpu and x.dtype == torch.float32 and x.is_contiguous() for x in states)
    return all(plain) and available()


def compiled_step(
    X: torch.Tensor,
    W: MixingMatrix,
    gamma: float,
    e: float,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
    limit: Limit | None = None,
) -> torch.Tensor:
    """The step with |z|^e. Threads take blocks of columns until none is left."""
    pairs, limit = W.pairs, limit or Limit()
    share(lambda taken: gossip_step.gossip(at, X, out, pairs, gamma, e, taken, limit), X, spread)
    return out


def compiled_sums(
    X: torch.Tensor | None,
    W: MixingMatrix,
    own: torch.Tensor,
    gamma: float,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """``X`` + own_i at_i + γ Σ_j W_ij at_j, by the same threads."""
    rows = W.starts, W.senders, W.weights
    share(lambda taken: gossip_step.sums(at, X, out, rows, own, gamma, taken), at, spread)
    return out


def share(step: Callable[[ctypes.c_int64], None], X: torch.Tensor, spread: Map) -> None:
    """Call ``step`` in threads that share the columns of ``X``, with a counter of those claimed."""
    taken = ctypes.c_int64()

    def part(_: int) -> None:
        if taken.value < X.shape[1]:
            step(taken)

    spread(part, -(-X.numel() // SHARE))
