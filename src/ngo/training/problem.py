"""The problem that a run solves: its data, their partition among workers, its model and loss; and
which samples each worker trains on in each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from ngo.common.devices import sent
from ngo.common.registry import UserError
from ngo.data.augmentation import Augment
from ngo.data.dataset import Dataset, test_samples
from ngo.data.partition import WHOLE, Parts, samples_by_class
from ngo.engine.backends import Rows, Stacked
from ngo.models.model import MODELS, Model
from ngo.models.task import TASKS, Task, image_batch, normalised_batch
from ngo.training.evaluation import evaluated_workers
from ngo.training.partition_file import draw, held_out
from ngo.training.spec import RunSpec
from ngo.training.validation import check_filled, check_share, smallest_share

#: Inputs and targets as one forward pass after another takes them.
Chunks = tuple[list[torch.Tensor], list[torch.Tensor]]


@dataclass(frozen=True)
class Problem:
    """The data, the partition, the model and the loss of a run."""

    model: Model
    task: Task
    #: Training and test tensors, on the run's device.
    data: Dataset
    #: The training samples of each worker, as indices into ``data``.
    parts: Parts
    #: The number of samples that workers own, and of their classes (None without classes).
    owned: int
    classes_covered: int | None
    #: The workers that evaluations score.
    evaluated: list[int]
    #: The samples of a step of all workers together, and the step after which the run ends.
    per_step: int
    last_step: int
    #: The samples of evaluations: the test set at the last step, a part of it (or all) before
    #: that, and the held-out training samples, if there are any.
    test: Chunks
    test_part: Chunks
    holdout: Chunks | None

    @property
    def device(self) -> torch.device:
        """The device of the data."""
        return self.data.train_inputs.device

    def test_at(self, step: int) -> Chunks:
        """The test samples of the evaluation at ``step``."""
        return self.test if step == self.last_step else self.test_part

    def restricted_to(self, workers: Sequence[int]) -> Problem:
        """The same problem with the training samples of some ``workers`` only."""
        kept = np.concatenate([self.parts[i] for i in workers])
        rows = torch.from_numpy(kept).to(self.device)
        inputs, targets = self.data.train_inputs[rows], self.data.train_targets[rows]
        ends = np.cumsum([0, *(len(self.parts[i]) for i in workers)])
        return replace(
            self,
            data=replace(self.data, train_inputs=inputs, train_targets=targets),
            parts=[np.arange(*pair) for pair in pairwise(ends)],
        )


def batch_sizes(spec: RunSpec, parts: Parts) -> list[int]:
    """The number of samples of each worker in a step."""
    if spec.short_share != WHOLE:
        return [spec.batch_size] * len(parts)
    return [min(spec.batch_size, len(part)) for part in parts]


def make_problem(
    spec: RunSpec,
    data: Dataset,
    parts: Parts | None = None,
    *,
    model: Model | None = None,
    task: Task | None = None,
) -> Problem:
    """The problem of a run on its data set; a UserError if a worker cannot fill a batch.

    Without ``parts`` the partition is drawn here: the same that a partition file holds. Without
    ``model`` and ``task``, the run names them.
    """
    model = model or MODELS[spec.model]
    task = task or TASKS[spec.task]
    labels = data.labels
    parts = draw(spec, labels) if parts is None else parts
    check_filled(spec, parts)
    sizes = batch_sizes(spec, parts)
    share, worker = smallest_share(parts)
    check_share(spec, share, worker)
    if min(sizes) < model.smallest_batch:
        raise UserError(
            f"short_share: 'whole' gives worker {worker} a batch of {share}, too small for model "
            f"{spec.model!r} (batch normalization), which needs {model.smallest_batch}; it must be "
            f"repeat."
        )
    held = torch.from_numpy(held_out(spec, len(data.train_inputs))).to(data.train_inputs.device)

    def chunks(inputs: torch.Tensor, targets: torch.Tensor) -> Chunks:
        size = model.chunk_on(inputs.device)
        pairs = zip(inputs.split(size), targets.split(size), strict=True)
        chunks = [task.batch(data, *pair) for pair in pairs]
        return [chunk for chunk, _ in chunks], [chunk for _, chunk in chunks]

    owned = sum(len(part) for part in parts)
    covered = None
    if data.classes is not None:
        covered = int(samples_by_class(labels, parts, data.classes).any(0).sum())
    test = test_part = chunks(data.test_inputs, data.test_targets)
    if 0 < spec.eval_images < len(data.test_inputs):
        part = torch.from_numpy(test_samples(data, spec.eval_images)).to(data.test_inputs.device)
        test_part = chunks(data.test_inputs[part], data.test_targets[part])
    return Problem(
        model,
        task,
        data,
        parts,
        owned=owned,
        classes_covered=covered,
        evaluated=evaluated_workers(spec),
        per_step=sum(sizes),
        last_step=spec.steps(owned, sum(sizes)),
        test=test,
        test_part=test_part,
        holdout=(chunks(data.train_inputs[held], data.train_targets[held]) if len(held) else None),
    )


# The fewest samples of a worker that are drawn, and the most batches into which they are cut, at
# once. To do so when a batch is due would take longer, with thousands of workers, than the rest of
# a step.
SAMPLES, BATCHES = 64, 256


class BatchStream:
    """Endless batches of one worker's sample indices, ``[batch_size]`` each.

    Each pass over the samples has a new random order. Every batch is full: the last batch of a pass
    is completed from the next pass. So workers with unequal shares step together.
    """

    def __init__(self, owned: np.ndarray, batch_size: int, generator: torch.Generator) -> None:
        self._own = torch.from_numpy(owned)
        self._batches: list[torch.Tensor] = []  # the next ones, the next of all last
        self._waiting = self._own[:0]  # the samples after them
        self._size = batch_size
        self._generator = generator

    def __iter__(self) -> Iterator[torch.Tensor]:
        return self

    def __next__(self) -> torch.Tensor:
        if not self._batches:
            self._draw()
        return self._batches.pop()

    def _draw(self) -> None:
        passes, count, owned = [self._waiting], self._waiting.numel(), self._own.numel()
        while count < max(self._size, SAMPLES):
            order = torch.randperm(owned, generator=self._generator)
            passes.append(self._own[order])
            count += owned
        drawn = torch.cat(passes)
        k = min(count // self._size, BATCHES)
        self._batches = list(drawn[: k * self._size].view(k, self._size).unbind()[::-1])
        self._waiting = drawn[k * self._size :]

    @cached_property
    def owned(self) -> torch.Tensor:
        """The worker's samples, in order."""
        return self._own.sort().values

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The state that decides the next batches."""
        waiting = torch.cat([*self._batches[::-1], self._waiting])
        return {"waiting": waiting, "stream": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Restore from ``state``."""
        self._batches, self._waiting = [], state["waiting"]
        self._generator.set_state(state["stream"])


class Batches:
    """The samples of the workers' next step (see ``backend.Batches``)."""

    #: The workers that take the next step, by row; None: all.
    workers: Sequence[int] | None = None
    #: The samples ``[k, b]`` of their last step.
    drawn: torch.Tensor

    def __init__(
        self,
        task: Task,
        data: Dataset,
        streams: Sequence[Iterator[torch.Tensor]],
        *,
        augment: Augment | None = None,
        changes: Sequence[torch.Generator] = (),
        uneven: bool = False,
    ) -> None:
        """``streams`` are the workers' sample indices, in batches of different sizes if ``uneven``.
        ``augment`` changes each worker's images, at random from the worker's stream in ``changes``.
        """
        self._task = task
        self._data = data
        self._streams = streams
        self._augment = augment
        self._changes = changes
        self._uneven = uneven

    def rows(self) -> Rows:
        """The same samples as rows of the data set, unless they are augmented."""
        data, images = self._data, self._task.batch is image_batch
        plain = images or self._task.batch is normalised_batch
        if self._augment is not None or not plain or (images and self._shades is None):
            return Stacked(*self.all()).rows()
        targets = data.train_inputs if images else data.train_targets
        samples = self._indices()
        return Rows(len(samples), data.train_inputs, targets, samples, self._shades)

    @cached_property
    def _shades(self) -> torch.Tensor | None:
        """What each value of a pixel becomes, by channel ``[c, 256]``; None for float inputs."""
        inputs = self._data.train_inputs
        if inputs.is_floating_point():
            return None
        values = torch.arange(256, dtype=torch.uint8, device=inputs.device)
        values = values[:, None, None, None].expand(-1, inputs.shape[1], 1, 1)
        shades, _ = self._task.batch(self._data, values, values)
        return shades.flatten(1).T.contiguous()

    def _indices(self) -> torch.Tensor:
        """The next samples ``[k, b]``."""
        self.drawn = torch.stack(self._next())
        return self.drawn

    def _next(self) -> list[torch.Tensor]:
        return [next(self._streams[i]) for i in self._numbers()]

    def _numbers(self) -> Sequence[int]:
        return range(len(self._streams)) if self.workers is None else self.workers

    def all(self) -> tuple[Any, Any]:
        """The inputs ``[k, b, …]`` and targets ``[k, b, …]`` of the workers.

        Where their batches have different sizes, each is a tuple of k tensors.
        """
        if self._uneven:
            drawn = self._next()
            sizes = [len(samples) for samples in drawn]
            indices = torch.cat(drawn)
        else:
            indices = self._indices()
            sizes = [indices.shape[1]] * len(indices)
        data, samples = self._data, sent(indices.flatten(), self._data.train_inputs.device)
        # Faster than [samples].
        inputs, targets = (
            x.index_select(0, samples) for x in (data.train_inputs, data.train_targets)
        )
        if self._augment is not None:
            images_of = zip(inputs.split(sizes), self._numbers(), strict=True)
            inputs = torch.cat([self._augment(images, self._changes[i]) for images, i in images_of])
        inputs, targets = self._task.batch(data, inputs, targets)
        if self._uneven:
            return inputs.split(sizes), targets.split(sizes)
        return inputs.unflatten(0, indices.shape), targets.unflatten(0, indices.shape)
