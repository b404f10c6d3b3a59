"""Sharpness: curvature and height of the training loss around the workers' mean model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ngo.common.fields import above, at_least, number, whole, within
from ngo.common.lazy import Table, Tensor, nn, pd, torch
from ngo.common.seeding import torch_stream
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.measures.measurement import Kept, drawn, kept, measurement
from ngo.models.task import Task
from ngo.native.threads import one_intra_op_thread

#: Samples whose second derivatives are computed at once.
CHUNK = 250


@dataclass(frozen=True)
class SharpnessOptions:
    """Options of ``sharpness_table``."""

    radius: tuple[float, ...] = number(
        "distance from the mean model at which the loss is measured", (1.0,), above(0, 1_000_000)
    )
    directions: int = whole("random directions per mean", 20, within(1, 10_000))
    samples: int = whole("training samples of which the loss is the mean", 500, within(1, 10**6))
    precision: float = number("relative error of the largest eigenvalue", 1e-4, within(1e-10, 0.1))
    seed: int = whole("seed of the choice of samples and directions", 0, at_least(0))


COLUMNS = (
    *("run", "train_samples", "step", "diverged", "V", "loss", "sharpness"),
    *("random_increase", "workers_increase", "own_increase"),
)


@measurement("sharpness", SharpnessOptions, on_models=True, columns=COLUMNS)
def sharpness_table(options: SharpnessOptions, models: Sequence[Path], data_root: Path) -> Table:
    r"""Measure how sharp the training loss is around the mean model.

    MODELS are files models.pt of runs, written by ngo train --snapshot. The loss F is the mean over
    --samples of the training set, the same for all models, with dropout off and with the mean of
    the workers' buffers, in float64.

    The table has the fields of the run, and a row for each snapshot and --radius: V, the loss F(x̄)
    of the mean model, its sharpness, the largest eigenvalue of the Hessian ∇²F(x̄), and by how much
    F is higher than F(x̄) on average: random_increase, at this distance in --directions that are
    uniform on the sphere; workers_increase, at the same distance in the directions x_i − x̄ of the
    workers; own_increase, at the workers' models themselves.

    Train a run and keep its models, then measure them:
      ngo train --dataset digits --batch-size 16 --epochs 5 --snapshot final \
        --out kept/
      ngo sharpness kept/models.pt --samples 100 --directions 2 \
        --out sharpness.parquet
    """
    with one_intra_op_thread():
        rows = [row for run in kept(models, data_root) for row in _run_rows(options, run)]
    return pd.DataFrame(rows)


def _run_rows(options: SharpnessOptions, run: Kept) -> Iterator[dict[str, object]]:
    spec, population, data, facts = run
    batch = population.task.batch(data, *drawn(options, spec, data, "sharpness"))
    consensus, *workers = population.models()
    loss = Loss(consensus, population.task, *batch)
    distances = torch.stack([_flat(worker) for worker in workers]) - loss.mean
    diverged, sharpness = not bool(loss.mean.isfinite().all()), math.nan
    if not diverged:
        sharpness = largest_eigenvalue(loss.hessian_product, len(loss.mean), options.precision)
    V = float(synchronization_index(population.X))
    state = {"diverged": diverged, "V": V, "loss": loss.at(loss.mean)}
    state |= {"sharpness": sharpness, "own_increase": loss.increase(distances)}
    generator = torch_stream(options.seed, "sharpness directions")
    size = options.directions, len(loss.mean)
    directions = _unit(torch.randn(size, generator=generator, dtype=torch.float64))
    for radius in options.radius:
        row = {**facts, **state, "radius": float(radius)}
        row |= {"random_increase": loss.increase(radius * directions)}
        yield row | {"workers_increase": loss.increase(radius * _unit(distances))}


class Loss:
    """The mean loss of a task on some samples, as a function of a model's parameters ``[d]``.

    In float64, with the model in evaluation mode. ``mean`` is where the given model is.
    """

    def __init__(self, model: nn.Module, task: Task, inputs: Tensor, targets: Tensor) -> None:
        def in_float64(tensor: Tensor) -> Tensor:
            return tensor.double() if tensor.is_floating_point() else tensor

        self._model = deepcopy(model).eval().double()
        self._task, self._samples = task, len(inputs)
        chunks = zip(inputs.split(CHUNK), targets.split(CHUNK), strict=True)
        self._chunks = [(in_float64(x), in_float64(y)) for x, y in chunks]
        self.mean = _flat(self._model)
        named = self._model.named_parameters()
        self._shapes = {name: x.shape for name, x in named if x.requires_grad}
        self._split = [shape.numel() for shape in self._shapes.values()]

    def at(self, x: Tensor) -> float:
        """F(x)."""
        with torch.no_grad():
            return float(sum(self._part(x, *chunk) for chunk in self._chunks))

    def increase(self, moves: Tensor) -> float:
        """The mean of F(x̄ + δ) − F(x̄) over the rows δ of ``moves`` ``[k, d]``."""
        here = self.at(self.mean)
        return sum(self.at(self.mean + move) - here for move in moves) / len(moves)

    def hessian_product(self, v: Tensor) -> Tensor:
        """∇²F(x̄) v ``[d]``: the gradient of ∇F(x̄)ᵀv."""
        losses = (partial(self._part, inputs=x, targets=y) for x, y in self._chunks)
        return sum(torch.autograd.functional.vhp(loss, self.mean, v)[1] for loss in losses)

    def _part(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """What these samples add to F(x)."""
        from ngo.models.layers import called  # torch's modules

        parts = zip(self._shapes.items(), x.split(self._split), strict=True)
        parameters = {name: part.view(shape) for (name, shape), part in parts}
        outputs = called(self._model, parameters, inputs)
        return self._task.loss(outputs, targets).sum() / self._samples


def largest_eigenvalue(product: Callable[[Tensor], Tensor], d: int, precision: float) -> float:
    """The largest eigenvalue of a symmetric matrix ``[d, d]``, known by its products ``[d]``.

    Lanczos' method: the largest eigenvalue on the space that power iteration goes through, to the
    relative ``precision``. It needs fewer products, and finds the largest one also where a negative
    eigenvalue has a larger modulus. NaN if a product is not finite, or without convergence.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    def multiplied(v: np.ndarray) -> np.ndarray:
        image = product(torch.from_numpy(np.ascontiguousarray(v.ravel()))).numpy()
        if not np.isfinite(image).all():
            raise FloatingPointError
        return image

    start = np.random.default_rng(0).standard_normal(d)
    try:
        if d < 3:  # too small for Lanczos' method
            matrix = np.stack([multiplied(row) for row in np.eye(d)])
            return float(np.linalg.eigvalsh(matrix)[-1])
        operator = LinearOperator((d, d), matvec=multiplied, dtype=float)
        return float(eigsh(operator, k=1, which="LA", v0=start, tol=precision)[0][0])
    except (FloatingPointError, ArpackError):
        return math.nan


def _flat(model: nn.Module) -> Tensor:
    """The parameters of a model as one vector ``[d]`` in float64."""
    parameters = [x.detach() for x in model.parameters() if x.requires_grad]
    return torch.cat([x.double().flatten() for x in parameters])


def _unit(directions: Tensor) -> Tensor:
    """Rows of length 1; NaN for rows of zeros."""
    return directions / directions.norm(dim=1, keepdim=True)
