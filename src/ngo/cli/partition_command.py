"""``ngo partition``: assign samples to workers."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.field_options import RunCommand, data_root_option, run_fields
from ngo.cli.options import RESULT
from ngo.cli.run_spec import spec_of_options
from ngo.data import download, loading
from ngo.data.dataset import DATASETS


@click.command(cls=RunCommand, owner="partition")
@run_fields(
    "dataset",
    "holdout",
    "partition",
    "shards",
    "shards_per_worker",
    "samples_per_worker",
    "beta",
    "workers",
    "seed",
)
@data_root_option
@click.option("--out", type=RESULT, required=True, help="Partition file to write (parquet).")
def partition(data_root: Path | None, out: Path, **given: object) -> None:
    """Assign each training sample to a worker.

    Writes a parquet file with the columns worker, sample and label.
    """
    # Runs of all protocols share a partition. "centralized" has the fewest fields to check.
    spec = spec_of_options(given, protocol="centralized", batch_size=1)

    from ngo.data.partition import summary
    from ngo.training.partition_file import draw, write

    labels = loading.train_labels(spec.dataset, download.data_root(data_root))
    parts = draw(spec, labels)
    write(out, spec, labels, parts)
    sizes = [len(part) for part in parts]
    classes = DATASETS[spec.dataset].classes
    covered = ""
    if classes is not None:
        covered = f", {summary(labels, parts, classes).classes_covered} classes covered"
    click.echo(
        f"{spec.partition_id}: {sum(sizes)} samples, {min(sizes)} to {max(sizes)} for each of "
        f"{spec.workers} workers{covered}"
    )
