"""``ngo aggregate`` and ``ngo classes``: join the files of runs and partitions into tidy tables."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.analysis.universes import Universe, in_universes
from ngo.cli.parameters import INPUT, configs_option, table_option
from ngo.common.registry import unknown
from ngo.common.versions import MIXED
from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import plan


@click.command()
@click.argument("metrics", nargs=-1, required=True, type=INPUT)
@click.option(
    "--mixed-versions",
    type=click.Choice(MIXED),
    default=MIXED[0],
    show_default=True,
    help="Runs that different versions of a library made: refuse them, or tell.",
)
@click.option("--universes", help="A table of universes of the configs: adds their columns.")
@configs_option("none: without --universes")
@table_option
def aggregate(
    metrics: tuple[Path, ...],
    mixed_versions: str,
    universes: str | None,
    configs: tuple[Path, ...],
    out: Path,
) -> None:
    """Join the metrics files of runs into one tidy table."""
    from ngo.analysis import results

    table = results.aggregate(metrics, mixed_versions)
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
@table_option
def classes(partitions: tuple[Path, ...], out: Path) -> None:
    """Count the samples per class and worker of partition files."""
    from ngo.analysis import results

    results.write(results.class_counts(partitions), out)
    click.echo(f"{len(partitions)} partitions → {out}")
