"""Transfers from the host to a GPU that the host does not wait for.

A GPU copies page-locked memory while the host goes on. For other memory, the host waits for the
copy, and for all GPU work that was queued before it.
"""

from __future__ import annotations

from functools import lru_cache

import torch


def sent(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    """``x`` on ``device``: itself if it is there already, otherwise an asynchronous copy."""
    if x.is_cpu and device.type == "cuda":
        x = x.pin_memory()
    return x.to(device, non_blocking=True)


def kept_there(W: torch.Tensor, device: torch.device) -> torch.Tensor:
    """``W`` on ``device``, from a cache: every step needs the same matrices.

    The version of ``W`` shows whether it was changed in place.
    """
    return W if W.device == device else _kept_there(W, W._version, device)


@lru_cache(maxsize=8)
def _kept_there(W: torch.Tensor, version: int, device: torch.device) -> torch.Tensor:
    return sent(W, device)
