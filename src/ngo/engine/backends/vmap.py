"""All workers at once: a convolution of n workers is one grouped convolution.

It is for small models: on a GPU, and on a CPU where there are many workers.
"""

from __future__ import annotations

from typing import Any

from ngo.common.lazy import torch
from ngo.common.registry import UserError, in_a_line
from ngo.engine.backend import Batches, Gradients, Workers, autocast, backend, in_float32
from ngo.models.layers import Sample
from ngo.models.vectorized import recorded, replayed


@backend("vmap")
def vmap(workers: Workers) -> Gradients:
    """Gradients by ``torch.func.vmap`` over the workers."""
    from torch.func import functional_call, grad_and_value
    from torch.func import vmap as over_workers

    module = workers.modules[0]
    parameters, gradients_by_name, floats, counts = workers.stacked()
    buffers = {**floats, **counts}

    def loss(
        parameters: dict[str, torch.Tensor],
        buffers: dict[str, torch.Tensor],
        inputs: torch.Tensor,
        targets: torch.Tensor,
        noise: tuple[torch.Tensor, ...],
    ) -> torch.Tensor:
        with replayed(module, noise), autocast(workers):
            outputs = functional_call(module, {**parameters, **buffers}, (inputs,))
        return workers.task.loss(in_float32(outputs), targets).mean()

    step = over_workers(grad_and_value(loss))
    draws: dict[torch.Size, list[Sample]] = {}  # by the shape of a worker's batch

    def gradients(batches: Batches) -> torch.Tensor:
        inputs, targets = batches.all()
        rows: Any = slice(None)
        generators = workers.generators
        if batches.workers is not None:
            rows = torch.tensor(batches.workers, device=inputs.device)
            generators = [generators[i] for i in batches.workers]
        shape = inputs.shape[1:]
        if shape not in draws:
            draws[shape] = []
            copies = {name: buffer[0].clone() for name, buffer in buffers.items()}
            with torch.no_grad(), recorded(module, draws[shape]):
                functional_call(module, copies, (inputs[0].clone(),))
        noise = tuple(
            torch.stack([draw(generator) for generator in generators]) for draw in draws[shape]
        )
        # Batch normalization updates its buffers in place, which vmap allows for contiguous ones.
        own = {name: buffer[rows].contiguous() for name, buffer in buffers.items()}
        models = {name: parameter[rows] for name, parameter in parameters.items()}
        try:
            found, losses = step(models, own, inputs, targets, noise)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise UserError(
                f"backend: 'vmap' fails on this model ({in_a_line(error)}); use auto, loop or "
                f"threads here."
            ) from error
        for all_rows, values in ((buffers, own), (gradients_by_name, found)):
            for name, tensor in all_rows.items():
                if batches.workers is None:
                    tensor.copy_(values[name])
                else:
                    tensor[rows] = values[name]
        return losses.detach()

    return gradients
