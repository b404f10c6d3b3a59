"""The backend that suits the device: by a stated rule on a CPU, by a timing on a GPU."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence

from ngo.common.lazy import torch
from ngo.common.registry import in_a_line
from ngo.engine.backend import (
    Batches,
    Gradients,
    Stacked,
    Workers,
    backend,
    backward,
    build_backend,
    restored,
)

log = logging.getLogger("ngo")

# On a CPU, vmap is for at least so many workers, with at most so many parameters each, and at most
# so many parameters times samples in a batch. Within these bounds it was 1.5 to 60 times as fast as
# threads; with a few more samples, or with convolutions, it was slower.
LEAST_WORKERS = 16
MOST_PARAMETERS = 100_000
MOST_WORK = 1_000_000

# On a GPU, CUDA graphs are tried for at most so many workers: capturing one takes a hundredth of a
# second, and vmap is as fast from 64 workers on.
MOST_GRAPHS = 256

# The number of workers whose gradients are compared with those of plain autograd.
COMPARED = 16


@backend("auto")
def auto(workers: Workers) -> Gradients:
    """On a CPU ``compiled``, ``vmap`` for many small models, or ``threads``; else the ``fastest``.

    On a CPU the choice depends on the module, the numbers of workers, parameters and samples, and
    on whether gradients agree; not on a timing. The same run therefore has the same bytes on the
    same kind of processor.
    """
    on_cpu = not workers.X.is_cuda
    if on_cpu and workers.chain is None and not _small(workers):
        workers.backend = "threads"
        return build_backend(workers, "threads")
    chosen: list[Gradients] = []

    def gradients(batches: Batches) -> torch.Tensor:
        if not chosen:
            batches = Stacked(*batches.all(), batches.workers)
            workers.backend = _on_cpu(workers, batches) if on_cpu else _on_gpu(workers, batches)
            chosen.append(build_backend(workers, workers.backend))
        return chosen[0](batches)

    return gradients


def _small(workers: Workers) -> bool:
    """Whether there are many workers with a small module, whose parameters are no convolutions'."""
    n, d = workers.X.shape
    flat = all(parameter.dim() <= 2 for parameter in workers.modules[0].parameters())
    return n >= LEAST_WORKERS and d <= MOST_PARAMETERS and flat


def _on_cpu(workers: Workers, batches: Stacked) -> str:
    """``compiled`` for a chain; ``vmap`` if a batch is small; ``threads`` if gradients disagree."""
    if workers.chain is not None:
        if agrees(workers, batches, "compiled"):
            return "compiled"
        workers.chain = None
    small = _small(workers) and batches.targets.shape[1] * workers.X.shape[1] <= MOST_WORK
    return "vmap" if small and agrees(workers, batches, "vmap") else "threads"


def _on_gpu(workers: Workers, batches: Stacked) -> str:
    """The fastest of ``loop``, ``vmap`` and, for not too many workers, ``graphs``."""
    few = workers.n <= MOST_GRAPHS
    return fastest(workers, batches, ("loop", "graphs", "vmap") if few else ("loop", "vmap"))


def agrees(workers: Workers, batches: Stacked, name: str) -> bool:
    """Whether the gradients of a backend are those of plain autograd, for the first workers.

    They are compared on ``batches``, and on other batches in another state. Workers and random
    streams are restored. If the backend fails, disagrees, or takes workers one after another where
    an operation has no other way, the log has a line that says so.
    """
    first = list(range(workers.n) if batches.workers is None else batches.workers)[:COMPARED]

    def autograd(batches: Batches) -> torch.Tensor:

        each = zip(first, *batches.all(), strict=False)
        return torch.stack([backward(workers, i, *batch) for i, *batch in each])

    expected = _tried(workers, autograd, batches, first)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="There is a performance drop")
            found = _tried(workers, build_backend(workers, name), batches, first)
    except Exception as error:  # any error: another backend is used
        _log_skipped(name, in_a_line(error))
        return False
    if _agree(workers, expected, found):
        return True
    _log_skipped(name, "its gradients are not those of plain autograd")
    return False


def fastest(
    workers: Workers,
    batches: Stacked,
    names: tuple[str, ...],
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
            found = _tried(workers, gradients, batches, range(workers.n))
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
        if found is expected or _agree(workers, expected, found):
            seconds[name] = taken
        else:
            _log_skipped(name, f"its gradients are not those of {names[0]!r}")
    return min(seconds, key=seconds.__getitem__)


def _log_skipped(name: str, reason: str) -> None:
    log.warning("backend: auto skips %r: %s", name, reason)


def _tried(
    workers: Workers, gradients: Gradients, batches: Stacked, rows: Sequence[int]
) -> list[torch.Tensor]:
    """Losses and gradients of the first ``rows`` on ``batches``, then on others elsewhere."""
    inputs, k = batches.inputs, len(rows)
    other = inputs / 2 if inputs.is_floating_point() else inputs.flip(0, 1)  # tokens stay whole
    others = Stacked(other, batches.targets.flip(0, 1), batches.workers)
    with restored(workers):
        found = [gradients(batches)[:k], workers.G[rows]]
        workers.X.div_(2)
        return [*found, gradients(others)[:k], workers.G[rows]]


def _agree(workers: Workers, expected: list[torch.Tensor], found: list[torch.Tensor]) -> bool:
    """Whether losses and gradients differ only by rounding: 1 % of their norm, 10 % in bfloat16.

    Measured on an H200: up to 3.6 % between two ways of computing in bfloat16.
    """
    most = 0.01 if workers.precision == "float32" else 0.1
    return all(
        bool((a - b).norm() <= most * a.norm()) for a, b in zip(expected, found, strict=True)
    )


def _wait(workers: Workers) -> None:

    if workers.X.is_cuda:
        torch.cuda.synchronize(workers.X.device)
