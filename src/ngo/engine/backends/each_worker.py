"""Each worker by itself: one after another (the reference), or spread over threads."""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.engine.backend import Batches, Gradients, Workers, backend, backward
from ngo.native.pool import Map, in_order


@backend("loop")
def loop(workers: Workers) -> Gradients:
    """One worker after another."""
    return _each(workers, in_order)


@backend("threads")
def threads(workers: Workers) -> Gradients:
    """Several workers at a time, on the threads of ``workers.spread``; the bytes are ``loop``'s."""
    return _each(workers, workers.spread)


def _each(workers: Workers, spread: Map) -> Gradients:

    list(workers.modules)  # builds them in this thread

    def gradients(batches: Batches) -> torch.Tensor:
        inputs, targets = batches.all()
        rows = range(workers.n) if batches.workers is None else batches.workers

        def worker(k: int) -> torch.Tensor:
            # Autograd counts changes in place of .data apart from those by other workers' modules.
            return backward(workers, rows[k], inputs[k].data, targets[k].data)

        return torch.stack(spread(worker, len(rows)))

    return gradients
