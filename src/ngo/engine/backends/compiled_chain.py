"""All workers' steps in one call of compiled code, for modules that are chains of known layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from ngo.engine.backend import Batches, Gradients, Workers, backend

if TYPE_CHECKING:
    import torch

    from ngo.native.layer_chain import Chain


@backend("compiled")
def compiled(workers: Workers) -> Gradients:
    """Gradients by the workers' chain; a UserError for modules that are none."""
    chain = workers.chain
    if chain is None:
        raise UserError(
            "backend: 'compiled' takes chains of known layers, in float32 on a CPU, and this model "
            "is none; use auto, loop, threads or vmap here."
        )
    noise = _noise(workers, chain)

    def gradients(batches: Batches) -> torch.Tensor:
        rows = batches.rows()
        b = len(rows.inputs) // rows.n if rows.samples is None else rows.samples.shape[1]
        return chain.gradients(
            workers.X,
            workers.G,
            rows.inputs,
            rows.targets,
            samples=rows.samples,
            shades=rows.shades,
            noise=noise(b, batches.workers),
            models=batches.workers,
        )

    return gradients


def _noise(
    workers: Workers, chain: Chain
) -> Callable[[int, Sequence[int] | None], torch.Tensor | None]:
    """A function that draws what the layers of workers need for batches of b samples.

    Each number comes from its worker's stream, and is the one that the layer itself would draw.
    """
    import torch

    from ngo.engine.inspection import evaluation_noise

    random = [layer for layer in chain.layers if layer.draws]
    drawn: dict[int, tuple[torch.Tensor, list[list[torch.Tensor]]]] = {}  # by b

    def noise(b: int, of: Sequence[int] | None) -> torch.Tensor | None:
        if not random:
            return None
        if not workers.modules[0].training:
            each = evaluation_noise(chain, b)
            return None if each is None else each.repeat(workers.n if of is None else len(of), 1)
        if b not in drawn:
            numbers = torch.empty(workers.n, b * chain.draws)
            drawn[b] = (
                numbers,
                [row.split([b * layer.draws for layer in random]) for row in numbers],
            )
        numbers, rows = drawn[b]
        numbered = range(workers.n) if of is None else of
        for i, views in zip(numbered, rows, strict=False):
            generator = workers.generators[i]
            for layer, view in zip(random, views, strict=True):
                if layer.keep:
                    view.bernoulli_(layer.keep, generator=generator)
                else:
                    view.normal_(generator=generator)
        return numbers[: len(numbered)]

    return noise
