"""The learning problem of a run: its data, their partition among workers, its model and loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ngo.common.registries import MODELS, TASKS
from ngo.data.dataset import Dataset, test_samples
from ngo.data.partition import Parts, samples_by_class
from ngo.models.model import Model
from ngo.models.task import Task
from ngo.training.evaluation import evaluated_workers
from ngo.training.spec import RunSpec
from ngo.training.spec_checks import check_share, draw, held_out, smallest_share

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
    #: The step after which the run ends.
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
        data = replace(self.data, train_inputs=inputs, train_targets=targets)
        ends = np.cumsum([len(self.parts[i]) for i in workers])
        return replace(self, data=data, parts=np.split(np.arange(len(kept)), ends[:-1]))


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
    model, task, labels = model or MODELS[spec.model], task or TASKS[spec.task], data.labels
    parts = draw(spec, labels) if parts is None else parts
    check_share(spec, *smallest_share(parts))
    held = torch.from_numpy(held_out(spec, len(data.train_inputs))).to(data.train_inputs.device)

    def chunks(inputs: torch.Tensor, targets: torch.Tensor) -> Chunks:
        size = model.chunk_on(inputs.device)
        pairs = zip(inputs.split(size), targets.split(size), strict=True)
        batches = [task.batch(data, *pair) for pair in pairs]
        return [batch for batch, _ in batches], [batch for _, batch in batches]

    owned = sum(map(len, parts))
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
        last_step=spec.steps(owned),
        test=test,
        test_part=test_part,
        holdout=(chunks(data.train_inputs[held], data.train_targets[held]) if len(held) else None),
    )
