"""``ngo aggregate`` and ``ngo classes``: join the files of jobs, runs and partitions in tables."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.analysis.universes import Universe, in_universes
from ngo.cli.parameters import INPUT, configs_option, table_option
from ngo.common.damaged import removed_if_damaged
from ngo.common.registry import unknown
from ngo.pipeline.config_files import read_config
from ngo.pipeline.places import JOBS
from ngo.pipeline.plan import plan


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
    from ngo.analysis import results

    for path in metrics:
        if path.parent.name == JOBS:
            with removed_if_damaged(path):
                results.read_tidy(path)
    table = results.aggregate(metrics)
    if universes is not None:
        table = in_universes(table, _sampled(universes, configs))
    results.write(table, out)
    diverged = table.loc[table["diverged"], "run"].nunique()
    click.echo(
        f"{table['run'].nunique()} runs, {len(table)} evaluations, {diverged} diverged → {out}"
    )


def _sampled(name: str, configs: tuple[Path, ...]) -> list[Universe]:
    """The universes of a table of the configs; a UserError if there is no such table."""
    planned = plan(read_config(configs)) if configs else None
    known = {} if planned is None else planned.universes
    if name not in known:
        raise unknown("universes", name, known)
    return known[name]


@click.command()
@click.argument("partitions", nargs=-1, required=True, type=INPUT)
@click.option("--partition", "ids", multiple=True, help="Only partitions with this id.")
@table_option
def classes(partitions: tuple[Path, ...], ids: tuple[str, ...], out: Path) -> None:
    """Count the samples per class and worker of partition files."""
    from ngo.analysis import results

    results.write(results.class_counts(partitions, ids or None), out)
    click.echo(f"{len(partitions)} files of partitions → {out}")
