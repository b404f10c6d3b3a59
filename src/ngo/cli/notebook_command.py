"""``ngo notebook``: execute a notebook, or start a new one."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.parameters import RESULT
from ngo.common.registry import UserError


@click.command()
@click.argument("source")
@click.option(
    "--param", "-p", multiple=True, metavar="NAME=VALUE", help="Set a parameter; VALUE is YAML."
)
@click.option("--out", type=RESULT, help="Executed notebook to write.")
@click.option("--reads", metavar="NAME", help="The experiment that a new notebook shows.")
@click.option("--tier", default="demo", show_default=True, help="The tier of a new notebook.")
def notebook(
    source: str, param: tuple[str, ...], out: Path | None, reads: str | None, tier: str
) -> None:
    """Execute the notebook SOURCE with parameters, or start a new one.

    An unknown parameter is an error. The executed notebook is written to --out, even if a cell
    raises an exception.

    Start notebooks/NAME.ipynb, the figure of an experiment:
      ngo notebook NAME --reads fig4
    """
    from ngo.pipeline.notebooks import execute, start

    if source.endswith(".ipynb"):
        if out is None:
            raise UserError("out: it is missing; name the executed notebook.")
        if not Path(source).is_file():
            raise UserError(f"notebook: there is no file {source!r}.")
        execute(Path(source), out, param)
        return
    if not source.isidentifier():
        raise UserError(f"notebook: {source!r} is no name of letters, digits and _.")
    path = start(source, reads or source, tier)
    click.echo(
        f"{path} is a start. A config with these lines has it, and snakemake {source} makes it:\n"
        f"figures:\n  {source}: {{ section: My own, reads: {reads or source} }}"
    )
