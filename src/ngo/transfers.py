"""Tensors that go to a GPU while the host goes on.

From page-locked memory a GPU copies by itself. From other memory the host has to wait for the copy,
and for all that the GPU has to do before it.
"""

from __future__ import annotations

from functools import lru_cache

import torch


def sent(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    """``x`` on ``device``: itself if it lies there, else a copy that nobody waits for."""
    if x.is_cpu and device.type == "cuda":
        x = x.pin_memory()
    return x.to(device, non_blocking=True)


def kept_there(W: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The same, for a matrix that step after step needs: a fixed topology's is sent only once."""
    return W if W.device == device else _kept_there(W, W._version, device)


@lru_cache(maxsize=8)
def _kept_there(W: torch.Tensor, version: int, device: torch.device) -> torch.Tensor:
    return sent(W, device)
