"""What each process of a distributed run has: its workers, and what it needs of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch

from ngo import training
from ngo.datasets import Dataset
from ngo.partition import Parts
from ngo.partition_file import held_out
from ngo.spec import RunSpec, check_share


def shares(workers: int, processes: int) -> list[range]:
    """The workers of each process: consecutive numbers, as evenly as can be."""
    return [
        range(*ends) for ends in pairwise(workers * k // processes for k in range(processes + 1))
    ]


@dataclass(frozen=True)
class Share:
    """What one process needs of the data: the training samples of its own workers with their
    ``parts``, and what is evaluated, in chunks. All workers together own ``owned`` samples.
    """

    data: Dataset
    parts: Parts
    owned: int
    test: tuple[list[torch.Tensor], list[torch.Tensor]]
    holdout: tuple[list[torch.Tensor], list[torch.Tensor]] | None


def share(spec: RunSpec, data: Dataset, parts: Parts, own: Sequence[int]) -> Share:
    """The share of the process with the workers ``own``."""
    check_share(spec, min(len(part) for part in parts))
    inputs, targets = data.train_inputs, data.train_targets
    kept = torch.from_numpy(np.concatenate([parts[i] for i in own])).to(inputs.device)
    held = torch.from_numpy(held_out(spec, len(inputs))).to(inputs.device)
    ends = np.cumsum([0, *(len(parts[i]) for i in own)])
    return Share(
        replace(data, train_inputs=inputs[kept], train_targets=targets[kept]),
        [np.arange(*pair) for pair in pairwise(ends)],
        sum(len(part) for part in parts),
        training.chunks(spec, data, data.test_inputs, data.test_targets),
        training.chunks(spec, data, inputs[held], targets[held]) if len(held) else None,
    )
