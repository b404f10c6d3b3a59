"""The baselines: training steps in plain PyTorch, as a user would write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ngo.bench.training_step import LR
from ngo.bench.turns import Step
from ngo.common.seeding import torch_stream

if TYPE_CHECKING:
    import torch
    from torch import nn


def one_model(*, model: str, n: int, b: int, device: str) -> Step:
    """SGD steps of one model on a batch of n·b samples, with all of torch's threads."""
    inputs, targets = _batches(model, n, b, device)
    return _steps(model, device, inputs.flatten(0, 1)[None], targets.flatten()[None])


def in_turn(*, model: str, n: int, b: int, device: str) -> Step:
    """SGD steps of n models one after another, without consensus."""
    return _steps(model, device, *_batches(model, n, b, device))


def in_turn_on_one_thread(**case: Any) -> Step:
    """The same with one intra-op thread."""
    import torch

    torch.set_num_threads(1)
    return in_turn(**case)


def plain_model(model: str, device: str) -> nn.Module:
    """The model with torch's own layers only."""
    from torch import nn

    from ngo.models.conv_pool import ConvPoolReLU2d
    from ngo.models.model import MODELS

    def standard(layer: nn.Module) -> nn.Module:
        if not isinstance(layer, ConvPoolReLU2d):
            return layer
        convolution = nn.Conv2d(layer.in_channels, layer.out_channels, layer.kernel_size)
        return nn.Sequential(convolution, nn.MaxPool2d(2), nn.ReLU())

    module = MODELS[model].build(torch_stream(0, "dropout", None, device))
    if isinstance(module, nn.Sequential):
        module = nn.Sequential(*map(standard, module))
    return module.to(device)


def _batches(model: str, n: int, b: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Random inputs ``[n, b, …]`` and classes ``[n, b]``."""
    import torch

    from ngo.models.model import MODELS

    generator = torch_stream(0, "bench")
    inputs = torch.randn(n, b, *MODELS[model].input_shape, generator=generator)
    targets = torch.randint(10, (n, b), generator=generator)
    return inputs.to(device), targets.to(device)


def _steps(model: str, device: str, inputs: torch.Tensor, targets: torch.Tensor) -> Step:
    """One SGD step of one model for each row of ``inputs``."""
    import torch
    from torch.nn.functional import cross_entropy

    modules = [plain_model(model, device) for _ in inputs]
    optimizers = [torch.optim.SGD(module.parameters(), lr=LR) for module in modules]

    def step() -> float:
        for module, optimizer, x, y in zip(modules, optimizers, inputs, targets, strict=True):
            optimizer.zero_grad()
            cross_entropy(module(x), y).backward()
            optimizer.step()
        return 0.0

    return step
