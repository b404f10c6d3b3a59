"""Transfers from the host to a GPU that the host does not wait for.

A GPU copies page-locked memory while the host goes on. For other memory, the host waits for the
copy, and for all GPU work that was queued before it.
"""

from __future__ import annotations

from ngo.common.lazy import torch


def sent(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    """``x`` on ``device``: itself if it is there already, otherwise an asynchronous copy."""
    if x.is_cpu and device.type == "cuda":
        x = x.pin_memory()
    return x.to(device, non_blocking=True)
