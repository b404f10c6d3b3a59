"""Partition files: (worker, sample, label) as parquet, and the fields that decide them.

A file may have several partitions, such as those of a setting with all seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ngo.common.parquet_columns import read_columns, write_columns
from ngo.common.registries import DATASETS, PARTITIONS
from ngo.data.download import verify
from ngo.data.loading import train_labels
from ngo.data.partition import Parts, by_owner, checked_parts, sample_owners
from ngo.training.spec import RunSpec
from ngo.training.spec_checks import check_share, draw, smallest_share
from verdicts.registry import UserError

COLUMNS = ("worker", "sample", "label")


def parts_by_owner(spec: RunSpec, root: Path) -> Parts | None:
    """The samples of each worker of a run whose partition divides by owner; None for others.

    The owners are read below the data root.
    """
    owned = by_owner(PARTITIONS[spec.partition])
    return draw(spec, sample_owners(spec.dataset, root)) if owned else None


def check_shares(specs: Iterable[RunSpec], root: Path) -> None:
    """Raise a UserError for a run with a worker that has too few samples to fill a batch.

    Partitions with random shares are drawn; runs with missing data pass.
    """
    drawn = [spec for spec in specs if PARTITIONS[spec.partition].smallest_share is None]
    there = [name for name in {spec.dataset for spec in drawn} if not verify(name, root)]
    labels = {name: DATASETS[name].labels(root) for name in there}
    shares: dict[str, tuple[int, int]] = {}
    for spec in drawn:
        if spec.dataset in labels:
            if spec.partition_id not in shares:
                parts = parts_by_owner(spec, root) or draw(spec, labels[spec.dataset])
                shares[spec.partition_id] = smallest_share(parts)
            check_share(spec, *shares[spec.partition_id])


def write(path: str | Path, specs: Sequence[RunSpec], root: Path) -> None:
    """Draw the partitions of ``specs``, and write them as parquet, a group of rows each."""
    labels = {name: train_labels(name, root) for name in {spec.dataset for spec in specs}}
    facts = {"partitions": [spec.partition_fields for spec in specs]}
    write_columns(path, facts, (_rows(spec, labels[spec.dataset], root) for spec in specs))


def _rows(spec: RunSpec, labels: np.ndarray, root: Path) -> dict[str, np.ndarray]:
    parts = parts_by_owner(spec, root) or draw(spec, labels)
    samples = np.concatenate(parts)
    worker = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return dict(zip(COLUMNS, (worker, samples, labels[samples]), strict=True))


def read(path: str | Path, spec: RunSpec) -> Parts:
    """The parts in a partition file; a UserError if it has not the partition of ``spec``."""
    wanted = spec.partition_fields

    def group(facts: dict[str, Any]) -> int:
        given = facts["partitions"] if isinstance(facts["partitions"], list) else []
        if wanted in given:
            return given.index(wanted)
        first = given[0] if given and isinstance(given[0], dict) else {}
        name = next((name for name in wanted if first.get(name) != wanted[name]), "seed")
        fault = f"of {name} {first.get(name)!r}, but the run is of {name} {wanted[name]!r}"
        raise UserError(f"partition-file: {str(path)!r} is {fault}.")

    table, _ = read_columns(path, "partition-file", COLUMNS, ("partitions",), group)
    workers = range(max(spec.workers, 1 + table["worker"].max(initial=0)))
    parts = [table["sample"][table["worker"] == i] for i in workers]
    m = DATASETS[spec.dataset].train_samples
    return checked_parts(f"partition-file: {str(path)!r}", parts, spec.workers, m)
