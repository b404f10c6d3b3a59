"""``ngo aggregate`` and ``ngo classes``: join the files of runs and partitions into tidy tables."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.parameters import INPUT, table_option
from ngo.common.versions import MIXED


@click.command()
@click.argument("metrics", nargs=-1, required=True, type=INPUT)
@click.option(
    "--mixed-versions",
    type=click.Choice(MIXED),
    default=MIXED[0],
    show_default=True,
    help="Runs that different versions of a library made: refuse them, or tell.",
)
@table_option
def aggregate(metrics: tuple[Path, ...], mixed_versions: str, out: Path) -> None:
    """Join the metrics files of runs into one tidy table."""
    from ngo.analysis import results

    table = results.aggregate(metrics, mixed_versions)
    results.write(table, out)
    diverged = table.loc[table["diverged"], "run"].nunique()
    click.echo(
        f"{table['run'].nunique()} runs, {len(table)} evaluations, {diverged} diverged → {out}"
    )


@click.command()
@click.argument("partitions", nargs=-1, required=True, type=INPUT)
@table_option
def classes(partitions: tuple[Path, ...], out: Path) -> None:
    """Count the samples per class and worker of partition files."""
    from ngo.analysis import results

    results.write(results.class_counts(partitions), out)
    click.echo(f"{len(partitions)} partitions → {out}")
