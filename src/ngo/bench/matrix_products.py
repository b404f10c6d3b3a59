"""The machine's rate of dense arithmetic: matrix products with as many multiply-adds as a step."""

from __future__ import annotations

from typing import Any

from ngo.bench.plain_torch import plain_model
from ngo.bench.turns import Step, synchronize


def matrix_product(*, model: str, n: int, b: int, device: str) -> Step:
    """A product of square matrices in float32, with all of torch's threads.

    It has as many multiply-adds as the steps of n workers with batches of b.
    """
    import torch

    side = round((n * b * multiply_adds(model)) ** (1 / 3))
    a, c = (torch.randn(side, side, device=device) for _ in range(2))
    out = torch.empty_like(a)

    def step() -> float:
        torch.mm(a, c, out=out)
        synchronize(device)
        return 0.0

    return step


def matrix_product_on_one_thread(**case: Any) -> Step:
    """The same with one intra-op thread."""
    import torch

    torch.set_num_threads(1)
    return matrix_product(**case)


def multiply_adds(model: str) -> int:
    """The multiply-adds of one sample's forward and backward pass, if all are computed.

    They are those of convolutions and linear layers; the rest is less than a hundredth.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from ngo.models.model import MODELS

    module = plain_model(model, "cpu").eval()
    with FlopCounterMode(display=False) as counted:
        module(torch.zeros(1, *MODELS[model].input_shape)).sum().backward()
    return counted.get_total_flops() // 2
