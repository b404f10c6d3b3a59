"""Workers' gradients compared with the gradient at their mean (Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.fields import at_least, number, whole, within
from ngo.common.lazy import Table, Tensor, pd, torch
from ngo.common.seeding import torch_stream
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.measures.measurement import Kept, drawn, kept, measurement

if TYPE_CHECKING:
    from ngo.engine.population import Population


#: The ``worker`` of rows about the mean of all workers' gradients.
MEAN = -1


@dataclass(frozen=True)
class AlignmentOptions:
    """Options of ``alignment_table``."""

    scale: tuple[float, ...] = number(
        "factor on the workers' distances to their mean", (0, 1, 2), within(0, 1_000_000)
    )
    samples: int = whole(
        "training samples on which gradients are computed", 500, within(1, 1_000_000)
    )
    seed: int = whole("seed of the choice of samples", 0, at_least(0))


COLUMNS = (
    *("run", "train_samples", "step", "diverged", "samples", "worker"),
    *("V", "cosine", "relative_norm", "accuracy"),
)


@measurement("alignment", AlignmentOptions, on_models=True, columns=COLUMNS)
def alignment_table(options: AlignmentOptions, models: Sequence[Path], data_root: Path) -> Table:
    r"""Compare workers' gradients with the gradient at their mean.

    MODELS are files models.pt of runs, written by ngo train --snapshot; the last snapshot of each
    is used. Each --scale multiplies the workers' distances to their mean. All gradients are of the
    same loss F, on the same --samples of the training set, with dropout off and with the mean of
    the workers' buffers.

    The table has the fields of the run, and a row for each scale and worker: V, the cosine of the
    worker's gradient and ∇F(x̄), the relative norm ‖gradient‖ / ‖∇F(x̄)‖, and the accuracy of the
    worker's model (NaN for tasks without one) on as many samples of the test set, if it has so
    many. Worker −1 is the mean: that of the workers' gradients, and the consensus model.

    Train a run and keep its models, then measure them:
      ngo train --dataset digits --batch-size 16 --epochs 5 --snapshot final \
        --out kept/
      ngo alignment kept/models.pt --scale 0 --scale 1 \
        --out alignment.parquet
    """
    tables = [_run_alignment(options, run) for run in kept(models, data_root, last=True)]
    return pd.concat(tables, ignore_index=True)


def _run_alignment(options: AlignmentOptions, run: Kept) -> Table:
    spec, population, data, facts = run
    batch = population.task.batch(data, *drawn(options, spec, data, "alignment"))
    generator = torch_stream(options.seed, "alignment test")
    tests = torch.randperm(len(data.test_inputs), generator=generator)[: options.samples]
    tested = population.task.batch(data, data.test_inputs[tests], data.test_targets[tests])
    population.buffers.copy_(population.buffers.mean(0))
    population.counts.copy_(population.counts.amax(0))
    mean = population.consensus_model()
    distances = population.X - mean
    reference = _gradients(population, mean.expand_as(distances), *batch)[0]
    rows = []
    for scale in options.scale:
        of_workers = _gradients(population, mean + scale * distances, *batch)
        gradients = torch.cat([of_workers.mean(0, keepdim=True), of_workers])
        cosines = torch.cosine_similarity(gradients, reference[None])
        norms = gradients.norm(dim=1) / reference.norm()
        scores = population.evaluate(*([tensor] for tensor in tested))
        row = {"scale": float(scale), "worker": range(MEAN, population.n)}
        row |= {"V": float(synchronization_index(population.X)), "cosine": cosines.numpy()}
        accuracies = [scores.consensus_accuracy, *scores.worker_accuracies]
        rows.append(row | {"relative_norm": norms.numpy(), "accuracy": accuracies})
    diverged = not bool(mean.isfinite().all())
    facts = {**facts, "diverged": diverged, "samples": options.samples}
    return pd.concat([pd.DataFrame({**facts, **row}) for row in rows], ignore_index=True)


def _gradients(population: Population, X: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
    """The gradients at ``X`` on one batch, the same for all workers: float64 ``[n, d]``.

    Without dropout.
    """
    from ngo.engine.backends import Stacked

    for module in population.models():
        module.eval()
    population.X.copy_(X)
    repeated = (tensor.expand(population.n, *tensor.shape) for tensor in (inputs, targets))
    population.gradients(Stacked(*repeated))
    return population.G.double()
