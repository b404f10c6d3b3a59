"""``ngo partition``: assign samples to workers."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.field_options import RunCommand, data_root_option, keep_data, run_fields
from ngo.cli.parameters import INPUT, RESULT
from ngo.cli.run_spec import spec_of_options
from ngo.common.fields import fields_of
from ngo.common.registry import UserError
from ngo.data import download, loading
from ngo.data.dataset import DATASETS
from ngo.training.spec import RunSpec


@click.command(cls=RunCommand, owner="partition")
@run_fields(
    *("dataset", "holdout", "partition"),
    *(name for name, field in fields_of(RunSpec).items() if "partition" in field.owners),
    *("workers", "seed"),
)
@click.option("--job", type=INPUT, help="File of the workflow with partitions to draw.")
@click.option("--key", help="The hash of the file --job.")
@data_root_option
@click.option("--out", type=RESULT, required=True, help="Partition file to write (parquet).")
@click.option(
    "--plot",
    type=RESULT,
    help="Draw who owns how many samples of each class: FILE.png, FILE.pdf and FILE.csv.",
)
def partition(
    job: Path | None,
    key: str | None,
    data_root: Path | None,
    out: Path,
    plot: Path | None,
    **given: object,
) -> None:
    r"""Assign each training sample to a worker.

    Writes a parquet file with the columns worker, sample and label.

    Cut the sorted digits into 20 pieces, two for each of ten workers:
      ngo partition --dataset digits --partition shards --shards 20 \
        --out parts.parquet
    """
    root = download.data_root(data_root)
    if job is not None:
        _draw_all(job, key or "", out, root)
        return
    spec = _spec(given)
    classes = DATASETS[spec.dataset].classes
    if plot is not None and classes is None:
        raise UserError(f"plot: dataset {spec.dataset!r} has no classes to draw.")

    from ngo.data.heterogeneity import hellinger_to_global, label_entropy
    from ngo.data.partition import samples_by_class
    from ngo.training.partition_file import read, write

    keep_data(spec.dataset, root)
    write(out, [spec], root)
    labels, parts = loading.train_labels(spec.dataset, root), read(out, spec)
    sizes = [len(part) for part in parts]
    facts = [
        f"{sum(sizes)} samples, {min(sizes)} to {max(sizes)} for each of {spec.workers} workers"
    ]
    if classes is not None:
        counts = samples_by_class(labels, parts, classes)
        facts += [
            f"{counts.any(0).sum()} classes covered",
            f"Hellinger distance {hellinger_to_global(counts):.2f}",
            f"label entropy {label_entropy(counts):.2f} nats",
        ]
    click.echo(f"{spec.partition_id}: {', '.join(facts)}")
    if plot is not None:
        from ngo.plots.partition_plot import save_partition_plot

        stem = plot.with_suffix("") if plot.suffix in (".png", ".pdf", ".csv") else plot
        title = f"{spec.dataset}, partition {spec.partition}, seed {spec.seed}"
        click.echo(f"→ {save_partition_plot(counts, title, stem)}")


def _draw_all(job: Path, key: str, out: Path, root: Path) -> None:
    """Draw the partitions in a file of the workflow."""
    from ngo.pipeline.job_files import read_job
    from ngo.training.partition_file import write

    specs = [_spec(fields) for fields in read_job(job, key)["partitions"]]
    write(out, specs, root)
    click.echo(f"{len(specs)} partitions → {out}")


def _spec(given: dict[str, object]) -> RunSpec:
    # Runs of all methods share a partition. "centralized" has the fewest fields to check.
    return spec_of_options(given, method="centralized", batch_size=1)
