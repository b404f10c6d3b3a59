"""``ngo aggregate`` and ``ngo classes``: join the files of jobs, runs and partitions in tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ngo.cli.parameters import INPUT, configs_option, table_option
from ngo.common.damaged import removed_if_damaged
from ngo.common.registry import unknown
from ngo.pipeline.places import JOBS

if TYPE_CHECKING:
    import pyarrow as pa


@click.command()
@click.argument("metrics", nargs=-1, required=True, type=INPUT)
@click.option("--universes", help="A table of universes of the configs: adds their columns.")
@configs_option("none: without --universes")
@table_option
def aggregate(
    metrics: tuple[Path, ...],
    universes: str | None,
    configs: tuple[Path, ...],
    out: Path,
) -> None:
    """Join tables of jobs, and metrics files of runs, into one tidy table.

    A column tells which versions of the libraries made the runs, if they differ.
    """
    from ngo.training import tidy

    for path in metrics:
        if path.parent.name == JOBS:
            with removed_if_damaged(path):
                tidy.read_tidy(path)
    table = tidy.aggregate(metrics)
    if universes is None:
        tidy.write_tidy(table, out)
    else:
        _write_in_universes(table, universes, configs, out)
    rows = zip(table["run"].to_pylist(), table["diverged"].to_pylist(), strict=True)
    diverged = len({run for run, each in rows if each})
    runs = len(table["run"].unique())
    click.echo(f"{runs} runs, {len(table)} evaluations, {diverged} diverged → {out}")


def _write_in_universes(table: pa.Table, name: str, configs: tuple[Path, ...], out: Path) -> None:
    """Write a table with the columns of its universes; a UserError if there is no such table."""
    from ngo.analysis.results import write
    from ngo.analysis.universes import in_universes
    from ngo.pipeline.config_files import read_config
    from ngo.pipeline.plan import plan

    planned = plan(read_config(configs)) if configs else None
    known = {} if planned is None else planned.universes
    if name not in known:
        raise unknown("universes", name, known)
    write(in_universes(table.to_pandas(), known[name]), out)


@click.command()
@click.argument("partitions", nargs=-1, required=True, type=INPUT)
@click.option("--partition", "ids", multiple=True, help="Only partitions with this id.")
@table_option
def classes(partitions: tuple[Path, ...], ids: tuple[str, ...], out: Path) -> None:
    """Count the samples per class and worker of partition files."""
    from ngo.analysis import results

    results.write(results.class_counts(partitions, ids or None), out)
    click.echo(f"{len(partitions)} files of partitions → {out}")
