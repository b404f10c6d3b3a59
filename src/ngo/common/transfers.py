"""Transfers from the host to a GPU that the host does not wait for.

A GPU copies from page-locked memory on its own. For other memory, the host has to wait for the copy
and for all GPU work queued before it.
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
    """``W`` on ``device``, with a cache for matrices that every step needs.

    A change of ``W`` in place is noticed by its version.
    """
    return W if W.device == device else _kept_there(W, W._version, device)


@lru_cache(maxsize=8)
def _kept_there(W: torch.Tensor, version: int, device: torch.device) -> torch.Tensor:
    return sent(W, device)
