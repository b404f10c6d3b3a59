"""``ngo notebook`` and ``ngo kernel``: execute notebooks."""

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


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kernel(arguments: tuple[str, ...]) -> None:
    """Start the IPython kernel of a notebook; Jupyter calls this."""
    import sys

    # Nobody debugs this kernel. To import the debugger takes as long as the rest of its start.
    sys.modules["debugpy"] = None

    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(list(arguments))
