"""How far the gradients of workers apart stand for the gradient at their mean (Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import torch

from ngo import datasets
from ngo.backends import Stacked
from ngo.consensus import synchronization_index
from ngo.population import Population
from ngo.registry import UserError
from ngo.seeding import torch_stream
from ngo.snapshots import load_snapshots, restored

MEAN = -1  # the "worker" whose gradient is the mean of all workers'


def alignment_table(
    models: Path, scales: Sequence[float], samples: int, seed: int, root: Path
) -> pd.DataFrame:
    """The gradients of a run's last kept models x_i beside the gradient at their mean x̄, as rows.

    For each scale s the models are at x̄ + s(x_i − x̄), so that V = s²V₀, and all gradients are of
    one loss F: on the same ``samples`` training samples, of the stream (``seed``, "alignment"),
    with dropout off and with the mean of the workers' buffers. A row has the run's facts, ``step``,
    whether the run ``diverged``, ``samples``, ``scale``, ``worker``, ``V``, ``cosine`` (of the
    worker's gradient and ∇F(x̄)) and ``relative_norm`` (‖gradient‖ / ‖∇F(x̄)‖); worker
    :data:`MEAN` is the mean of the workers' gradients.
    """
    spec, snapshots = load_snapshots(models)
    data = datasets.load(spec.dataset, root)
    m = len(data.train_inputs)
    if samples > m:
        raise UserError(f"samples: {samples} is more than {spec.dataset}'s {m} training samples.")
    step = max(snapshots)
    population = restored(spec, snapshots[step])
    chosen = torch.randperm(m, generator=torch_stream(seed, "alignment"))[:samples]
    batch = population.task.batch(data, data.train_inputs[chosen], data.train_targets[chosen])
    population.buffers.copy_(population.buffers.mean(0))
    for module in population.modules():
        module.eval()
    mean = population.consensus_model()
    apart = population.X - mean
    reference = _gradients(population, mean.expand_as(apart), *batch)[0]
    rows = []
    for scale in scales:
        own = _gradients(population, mean + scale * apart, *batch)
        gradients = torch.cat([own.mean(0, keepdim=True), own])
        cosines = torch.cosine_similarity(gradients, reference[None])
        norms = gradients.norm(dim=1) / reference.norm()
        rows.append(
            {
                "scale": float(scale),
                "worker": range(MEAN, population.n),
                "V": float(synchronization_index(population.X)),
                "cosine": cosines.numpy(),
                "relative_norm": norms.numpy(),
            }
        )
    facts = {name: value for name, value in asdict(spec).items() if value is not None}
    diverged = not bool(mean.isfinite().all())
    own = {"train_samples": m, "step": step, "diverged": diverged, "samples": samples}
    facts = {"run": spec.id, **facts, **own}
    return pd.concat([pd.DataFrame({**facts, **row}) for row in rows], ignore_index=True)


def _gradients(
    population: Population, X: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """The gradients at ``X`` on one batch, the same for all workers: float64 ``[n, d]``."""
    population.X.copy_(X)
    population.gradients(
        Stacked(*(tensor.expand(population.n, *tensor.shape) for tensor in (inputs, targets)))
    )
    return population.G.double()
