"""All workers' steps in one call of compiled code, for modules that are chains of known layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ngo.common.lazy import torch
from ngo.common.registry import UserError
from ngo.engine.backend import Batches, Gradients, Workers, backend
from ngo.engine.inspection import evaluation_noise
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
            models=batches.workers,
            **noise(b, batches.workers),
        )

    return gradients


def _noise(workers: Workers, chain: Chain) -> Callable[[int, Sequence[int] | None], dict[str, Any]]:
    """Where the numbers are that layers draw for b samples of some workers, and what draws them.

    Each number comes from its worker's stream, and is the one that the layer itself would draw.
    """
    random = [layer for layer in chain.layers if layer.draws]
    places: dict[int, tuple[torch.Tensor, list[list[torch.Tensor]]]] = {}  # by b

    def noise(b: int, of: Sequence[int] | None) -> dict[str, Any]:
        if not random:
            return {}
        if not workers.modules[0].training:
            each = evaluation_noise(chain, b)
            n = workers.n if of is None else len(of)
            return {} if each is None else {"noise": each.flatten().repeat(n, 1)}
        if b not in places:
            numbers = torch.empty(workers.n, b * chain.draws)
            sizes = [b * layer.draws for layer in random]
            places[b] = numbers, [list(row.split(sizes)) for row in numbers]
        numbers, rows = places[b]
        numbered = range(workers.n) if of is None else of

        def draw(k: int) -> None:
            generator = workers.generators[numbered[k]]
            for layer, row in zip(random, rows[k], strict=True):
                if layer.keep:
                    row.bernoulli_(layer.keep, generator=generator)
                else:
                    row.normal_(generator=generator)

        return {"noise": numbers[: len(numbered)], "draw": draw}

    return noise
