"""``ngo data``: verify and download data sets."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.field_options import data_root_option, keep_data
from ngo.cli.parameters import RESULT
from ngo.common.files import write_text
from ngo.data import download, loading
from ngo.data.dataset import DATASETS
from ngo.data.described import DESCRIBED
from ngo.data.manifest import manifest_text


@click.command()
@click.argument("name")
@data_root_option
@click.option("--out", type=RESULT, help="Write the files' checksums to this JSON file.")
def data(name: str, data_root: Path | None, out: Path | None) -> None:
    """Verify the files of a data set, and download missing ones.

    Look at the data set that comes with scikit-learn:
      ngo data digits
    """
    source = DATASETS[name]
    root = download.data_root(data_root)
    keep_data(name, root)
    download.prepare(name, root)
    samples = len(source.read_labels(root))
    if source.folder is not None or name in DESCRIBED:
        loading.checked_arrays(name, source, source.read(root), root)  # decodes images, once
    if out is not None:
        write_text(out, manifest_text(name, samples))
    if source.folder is not None:
        place = f"{source.folder} in {root}"
    elif source.files:
        place = f"{len(source.files)} files verified in {root}"
    else:
        place = "no files to verify"
    click.echo(f"{name}: {samples:,} training samples, {place}")
