"""Tensors as arguments of C functions."""

from __future__ import annotations

import ctypes

from ngo.common.lazy import torch

POINTER, SIZE, DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


def check_tensor(
    name: str, x: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype | None = None
) -> None:
    """Raise ValueError unless ``x`` is a contiguous CPU tensor of this shape and type (float32)."""
    dtype = dtype or torch.float32
    if x.shape != shape or x.dtype != dtype or not (x.is_cpu and x.is_contiguous()):
        raise ValueError(
            f"{name} must be a contiguous {dtype} {list(shape)} on the CPU; it is a "
            f"{'' if x.is_contiguous() else 'strided '}{x.dtype} {list(x.shape)} on {x.device}"
        )


def pointers(*tensors: torch.Tensor | None) -> list[int | None]:
    """The addresses of the tensors' data; None for None."""
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]
