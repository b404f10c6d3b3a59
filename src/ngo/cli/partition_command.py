"""``ngo partition``: assign samples to workers."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.field_options import RunCommand, data_root_option, keep_data, run_fields
from ngo.cli.parameters import RESULT
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
@data_root_option
@click.option("--out", type=RESULT, required=True, help="Partition file to write (parquet).")
@click.option(
    "--plot",
    type=RESULT,
    help="Draw who owns how many samples of each class: FILE.png, FILE.pdf and FILE.csv.",
)
def partition(data_root: Path | None, out: Path, plot: Path | None, **given: object) -> None:
    r"""Assign each training sample to a worker.

    Writes a parquet file with the columns worker, sample and label.

    Cut the sorted digits into 20 pieces, two for each of ten workers:
      ngo partition --dataset digits --partition shards --shards 20 \
        --out parts.parquet
    """
    # Runs of all methods share a partition. "centralized" has the fewest fields to check.
    spec = spec_of_options(given, method="centralized", batch_size=1)
    classes = DATASETS[spec.dataset].classes
    if plot is not None and classes is None:
        raise UserError(f"plot: dataset {spec.dataset!r} has no classes to draw.")

    from ngo.data.heterogeneity import hellinger_to_global, label_entropy
    from ngo.data.partition import samples_by_class
    from ngo.training.partition_file import draw, parts_by_owner, write

    root = download.data_root(data_root)
    keep_data(spec.dataset, root)
    labels = loading.train_labels(spec.dataset, root)
    parts = parts_by_owner(spec, root) or draw(spec, labels)
    write(out, spec, labels, parts)
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
        from ngo.figures.partition_plot import save_partition_plot

        stem = plot.with_suffix("") if plot.suffix in (".png", ".pdf", ".csv") else plot
        title = f"{spec.dataset}, partition {spec.partition}, seed {spec.seed}"
        click.echo(f"→ {save_partition_plot(counts, title, stem)}")
