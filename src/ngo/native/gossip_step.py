"""One nonlinear gossip step on a CPU, compiled from ``gossip_step.c``."""

from __future__ import annotations

import ctypes

import torch

from ngo.native.arguments import DOUBLE, POINTER, SIZE, check_tensor, pointers
from ngo.native.build import function, library

ARGUMENTS = [*[POINTER] * 4, *[DOUBLE] * 2, *[SIZE] * 2, *[POINTER] * 2]


def gossip(
    seen: torch.Tensor,
    X: torch.Tensor,
    new: torch.Tensor,
    W: torch.Tensor,
    gamma: float,
    e: float,
    taken: ctypes.c_int64,
) -> None:
    """new_i ← X_i + γ Σ_j W_ij sign(z)|z|^e, where z = seen_j − seen_i.

    The states are contiguous float32 ``[n, d]``, and ``new`` may be ``X`` or ``seen``. ``W``
    ``[n, n]`` is contiguous, symmetric and float64. ``taken`` counts the columns that threads have
    claimed: threads that pass the same counter, initially 0, share the work. Tensors of other
    shapes and types raise ValueError.
    """
    n, d = X.shape
    for name, state in {"seen": seen, "X": X, "new": new}.items():
        check_tensor(name, state, (n, d))
    check_tensor("W", W, (n, n), torch.float64)
    width = ctypes.c_int64.in_dll(library(), "ngo_gossip_width").value
    workspace = X.new_empty(n * width)
    function("ngo_gossip", ARGUMENTS)(
        *pointers(seen, X, new, W), gamma, e, n, d, ctypes.byref(taken), workspace.data_ptr()
    )
