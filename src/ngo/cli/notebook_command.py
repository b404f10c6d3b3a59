"""``ngo notebook``: execute a notebook."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.parameters import INPUT, RESULT


@click.command()
@click.argument("source", type=INPUT)
@click.option(
    "--param", "-p", multiple=True, metavar="NAME=VALUE", help="Set a parameter; VALUE is YAML."
)
@click.option("--experiment", metavar="NAME", help="The experiment of a default figure.")
@click.option("--out", type=RESULT, required=True, help="Executed notebook to write.")
def notebook(source: Path, param: tuple[str, ...], experiment: str | None, out: Path) -> None:
    """Execute a notebook, or the file of a figure or table, with parameters.

    An unknown parameter is an error. The executed notebook is written to --out, even if a cell
    raises an exception.
    """
    from ngo.pipeline.notebooks import execute

    execute(source, out, param, experiment)
