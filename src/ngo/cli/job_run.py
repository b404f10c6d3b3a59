"""Train all runs of a job of the workflow in this process."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import click

from ngo.common.devices import claimed
from ngo.common.files import removed_if_damaged
from ngo.common.registry import UserError
from ngo.data import download
from ngo.pipeline.job_training import train_job
from ngo.training.spec import RunSpec


def train_all(
    job: Path,
    key: str,
    partitions: Path | None,
    data_root: Path | None,
    device: str,
    threads: int | None,
    checkpoint_seconds: float,
) -> None:
    """Train the runs that are missing of the job in the file ``job``, and write its table."""
    if partitions is None:
        raise UserError("partition_file: a job needs the partitions of its setting.")
    how = {"threads": threads, "checkpoint_seconds": checkpoint_seconds}
    root = download.data_root(data_root)
    with claimed(device) as place:
        table = train_job(job, key, partial(_train, partitions, root, device=place, **how))
    click.echo(f"→ {table}")


def _train(
    partitions: Path,
    root: Path,
    spec: RunSpec,
    out: Path,
    *,
    snapshots: Collection[int | str],
    **how: Any,
) -> None:
    from ngo.cli.local_run import train_here
    from ngo.training.partition_file import read

    with removed_if_damaged(partitions):
        parts = read(partitions, spec)
    train_here(spec, out, root, parts=parts, snapshots=snapshots, overwrite=True, **how)
