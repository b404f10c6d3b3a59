"""The backend that suits the model and the device.

On a CPU it is ``compiled`` where that is possible and correct, else ``threads``; no time is taken,
for the same bytes everywhere. On a GPU it is the fastest correct backend.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from ngo.common.registry import in_a_line
from ngo.engine.backend import (
    Batches,
    Gradients,
    Rows,
    Stacked,
    Workers,
    backend,
    backward,
    build_backend,
    restored,
)

if TYPE_CHECKING:
    import torch

log = logging.getLogger("ngo")


# Workers whose compiled gradients are compared with autograd's: all of them run the same code.
COMPARED = 4


@backend("auto")
def auto(workers: Workers) -> Gradients:
    """``compiled`` or ``threads`` on a CPU; on a GPU the ``fastest``."""
    chosen: list[Gradients] = []

    def gradients(batches: Batches) -> torch.Tensor:
        if not chosen:
            if workers.X.is_cuda:
                batches = Stacked(*batches.all())
                workers.backend = fastest(workers, batches)
            else:
                batches = batches.rows()
                workers.backend = _on_cpu(workers, batches)
            chosen.append(build_backend(workers, workers.backend))
        return chosen[0](batches)

    return gradients


def _on_cpu(workers: Workers, rows: Rows) -> str:
    """``compiled`` for a chain of known layers whose gradients are those of autograd.

    Otherwise ``threads``; if the compiled gradients fail or differ, with a line in the log.
    """
    import torch

    if workers.chain is None:
        return "threads"
    with restored(workers):
        each = [backward(workers, i, *rows.batch(i)) for i in range(min(workers.n, COMPARED))]
        expected = [torch.stack(each), workers.G[:COMPARED].clone()]
    try:
        with restored(workers):
            losses = build_backend(workers, "compiled")(rows)
        if _agree(expected, [losses[:COMPARED], workers.G[:COMPARED]]):
            return "compiled"
        reason = "its gradients are not those of autograd"
    except Exception as error:  # any error: autograd remains
        reason = in_a_line(error)
    workers.chain = None
    _log_skipped("compiled", reason)
    return "threads"


def fastest(
    workers: Workers,
    batches: Stacked,
    names: tuple[str, ...] = ("loop", "graphs", "vmap"),
    steps: int = 5,
) -> str:
    """The backend that is fastest on ``batches``, if it agrees with the first of ``names``.

    Backends must also agree on a second batch and state: a CUDA graph that was captured empty, or
    that reads an outdated batch, would repeat the first gradients. Workers and random streams are
    restored. A backend that fails (an operation that vmap lacks, too little memory) or disagrees is
    skipped, with a line in the log.
    """
    seconds: dict[str, float] = {}
    expected = None
    for name in names:
        try:
            gradients = build_backend(workers, name)
            found = _tried(workers, gradients, batches)
            with restored(workers):
                gradients(batches)
                _wait(workers)
                start = time.perf_counter()
                for _ in range(steps):
                    gradients(batches)
                _wait(workers)
                taken = time.perf_counter() - start
        except Exception as error:  # any error: the first backend remains
            if expected is None:
                raise
            _log_skipped(name, in_a_line(error))
            continue
        if expected is None:
            expected = found
        if found is expected or _agree(expected, found):
            seconds[name] = taken
        else:
            _log_skipped(name, f"its gradients are not those of {names[0]!r}")
    return min(seconds, key=seconds.__getitem__)


def _log_skipped(name: str, reason: str) -> None:
    log.warning("backend: auto skips %r: %s", name, reason)


def _tried(workers: Workers, gradients: Gradients, batches: Stacked) -> list[torch.Tensor]:
    """Losses and gradients on ``batches``, then on other batches in another state."""
    inputs = batches.inputs
    other = inputs / 2 if inputs.is_floating_point() else inputs.flip(0, 1)  # tokens stay whole
    others = Stacked(other, batches.targets.flip(0, 1))
    with restored(workers):
        found = [gradients(batches), workers.G.clone()]
        workers.X.div_(2)
        return [*found, gradients(others), workers.G.clone()]


def _agree(expected: list[torch.Tensor], found: list[torch.Tensor]) -> bool:
    """Whether losses and gradients differ only by rounding: 1 % of their norm, as in bfloat16."""
    return all(
        bool((a - b).norm() <= 0.01 * a.norm()) for a, b in zip(expected, found, strict=True)
    )


def _wait(workers: Workers) -> None:
    import torch

    if workers.X.is_cuda:
        torch.cuda.synchronize(workers.X.device)
