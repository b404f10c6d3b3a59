"""What measurements of kept models share: the files of runs, and the samples that are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngo.common.lazy import Tensor
from ngo.common.registry import UserError

if TYPE_CHECKING:
    from ngo.data.dataset import Dataset
    from ngo.training.snapshots import Snapshots
    from ngo.training.spec import RunSpec

Kept = tuple["RunSpec", "Snapshots", "Dataset", dict[str, object]]
"""A run, its snapshots, its data, and the columns of a table that tell of them."""


def kept(models: Sequence[Path], data_root: Path) -> Iterator[Kept]:
    """The run in each file of kept models."""
    from ngo.data import loading
    from ngo.training.snapshots import load_snapshots

    for path in models:
        spec, snapshots = load_snapshots(path)
        data = loading.load(spec.dataset, data_root, run=spec)
        facts = {name: value for name, value in spec.values().items() if value is not None}
        facts = {"run": spec.id, **facts, "train_samples": len(data.train_inputs)}
        yield spec, snapshots, data, facts


def drawn(options: Any, spec: RunSpec, data: Dataset, stream: str) -> Tensor:
    """The numbers of ``samples`` training samples; a UserError if the data have fewer."""
    import torch

    from ngo.common.seeding import torch_stream

    m = len(data.train_inputs)
    if options.samples > m:
        raise UserError(
            f"samples: {options.samples} is more than {spec.dataset}'s {m} training samples."
        )
    return torch.randperm(m, generator=torch_stream(options.seed, stream))[: options.samples]
