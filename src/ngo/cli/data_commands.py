"""``ngo data``, ``describe`` and ``partition``: data sets, and who owns which samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ngo.cli import options
from ngo.cli.options import RESULT, ending
from ngo.common.files import write_text
from ngo.common.registries import DATASETS
from ngo.data import download, loading
from ngo.data.description import DESCRIBED, as_text, manifest_text
from ngo.data.description import describe as describe_data
from ngo.data.heterogeneity import hellinger_to_global, label_entropy
from ngo.data.partition import samples_by_class
from ngo.training.spec import RunSpec


@click.command()
@click.argument("name")
@options.data_root_option
@click.option("--out", type=RESULT, help="Write the files' checksums to this JSON file.")
def data(name: str, data_root: Path, out: Path | None) -> None:
    """Verify the files of a data set, and download missing ones.

    Look at the data set that comes with scikit-learn:
      ngo data digits
    """
    source = DATASETS[name]
    download.prepare(name, data_root)
    samples = len(source.labels(data_root))
    if source.folder is not None or name in DESCRIBED:
        # Decodes images, once.
        loading.checked_arrays(name, source, source.read(data_root), data_root)
    if out is not None:
        write_text(out, manifest_text(name, samples))
    what = source.folder or (source.files and f"{len(source.files)} files verified")
    place = f"{what} in {data_root}" if what else "no files to verify"
    click.echo(f"{name}: {samples:,} training samples, {place}")


@click.command()
@click.argument("path", type=options.INPUT)
@options.data_root_option
@click.option("--name", help="Name of the data set  [default: that of the file]")
@click.option("--out", type=ending(".yaml"), required=True, help="Description to write (YAML).")
def describe(path: Path, data_root: Path, name: str | None, out: Path) -> None:
    """Describe a file of arrays, so that configs can name it as a data set.

    PATH is a NumPy file (.npz) with x_train, y_train, x_test and y_test, and owner_train if samples
    have owners. The description has the size, the shape and a digest of the data; commands read it
    with --plugin, and configs name it among their plugins.

    Describe the arrays of a file:
      ngo describe flowers.npz --out flowers.yaml
    """
    values = describe_data(path, data_root, name or path.resolve().stem)
    write_text(out, as_text(values))
    shape = " × ".join(map(str, values["input_shape"]))
    kind = f"{values['classes']} classes" if values["classes"] else "no classes"
    owners = ", with owners" if values["owners"] else ""
    click.echo(
        f"{values['dataset']}: {values['train_samples']:,} training samples of {shape}, {kind}"
        f"{owners} → {out}"
    )


@click.command(
    cls=options.RunCommand,
    owner="partition",
    named=("dataset", "holdout", "partition", "workers", "seed"),
)
@click.option("--job", type=options.INPUT, help="File of the workflow with partitions to draw.")
@click.option("--key", help="The hash of the file --job.", default="")
@options.data_root_option
@click.option("--out", type=RESULT, required=True, help="Partition file to write (parquet).")
def partition(job: Path | None, key: str, data_root: Path, out: Path, **given: Any) -> None:
    r"""Assign each training sample to a worker.

    Writes a parquet file with the columns worker, sample and label.

    Cut the sorted digits into 20 pieces, two for each of ten workers:
      ngo partition --dataset digits --partition shards --shards 20 \
        --out parts.parquet
    """
    from ngo.training.partition_file import read, write

    if job is not None:
        from ngo.pipeline.job_training import read_job

        specs = [_spec(fields) for fields in read_job(job, key)["partitions"]]
        write(out, specs, data_root)
        click.echo(f"{len(specs)} partitions → {out}")
        return
    spec = _spec(given)
    classes = DATASETS[spec.dataset].classes
    write(out, [spec], data_root)
    labels, parts = loading.train_labels(spec.dataset, data_root), read(out, spec)
    sizes = [len(part) for part in parts]
    each = f"{min(sizes)} to {max(sizes)} for each of {spec.workers} workers"
    facts = [f"{sum(sizes)} samples, {each}"]
    if classes is not None:
        counts = samples_by_class(labels, parts, classes)
        facts += [
            f"{counts.any(0).sum()} classes covered",
            f"Hellinger distance {hellinger_to_global(counts):.2f}",
            f"label entropy {label_entropy(counts):.2f} nats",
        ]
    click.echo(f"{spec.partition_id}: {', '.join(facts)}")


def _spec(given: dict[str, object]) -> RunSpec:
    # Runs of all methods share a partition. "centralized" has the fewest fields to check.
    return options.spec_of_options(given, method="centralized", batch_size=1)
