"""The commands of the workflow: tables, notebooks, assumptions and the page of results."""

from __future__ import annotations

from pathlib import Path

import click
import pyarrow as pa

from ngo.analysis import results
from ngo.analysis.universes import in_universes
from ngo.cli.options import INPUT, RESULT, configs_option, table_option
from ngo.common.files import removed_if_damaged, write_text
from ngo.common.registry import UserError, unknown
from ngo.pipeline import assumptions as assumed_values
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import JOBS
from ngo.pipeline.plan import plan
from ngo.training import tidy


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
    planned = plan(read_config(configs)) if configs else None
    known = {} if planned is None else planned.universes
    if name not in known:
        raise unknown("universes", name, known)
    results.write(in_universes(table.to_pandas(), known[name]), out)


@click.command()
@click.argument("partitions", nargs=-1, required=True, type=INPUT)
@click.option("--partition", "ids", multiple=True, help="Only partitions with this id.")
@table_option
def classes(partitions: tuple[Path, ...], ids: tuple[str, ...], out: Path) -> None:
    """Count the samples per class and worker of partition files."""
    results.write(results.class_counts(partitions, ids or None), out)
    click.echo(f"{len(partitions)} files of partitions → {out}")


@click.command()
@configs_option()
@click.option(
    "--out",
    "outs",
    multiple=True,
    type=RESULT,
    help="Write to this .md or .html file  [default: standard output]",
)
def assumptions(configs: tuple[Path, ...], outs: tuple[Path, ...]) -> None:
    """List the values that the paper does not state, with reasons."""
    values = assumed_values.of_paper(configs)
    tier = read_config(configs)["tier"]
    forms = {".md": assumed_values.as_markdown, ".html": assumed_values.as_html}
    for out in outs:
        if out.suffix not in forms:
            raise UserError(f"out: {str(out)!r} must end in {' or '.join(forms)}.")
        write_text(out, forms[out.suffix](values, tier))
    where = ", ".join(map(str, outs))
    text = (
        f"{len(values)} value{'s' * (len(values) != 1)} → {where}"
        if outs
        else forms[".md"](values, tier)
    )
    click.echo(text)


@click.command()
@configs_option()
@click.option("--out", type=RESULT, required=True, help="Page to write (HTML).")
def report(configs: tuple[Path, ...], out: Path) -> None:
    """Write the results of a tier as one HTML file.

    The file needs no other file and no network. It has the verdict on each claim, the findings,
    all tables and figures, the assumptions and the provenance of the runs. The results are read
    from results/.
    """
    from ngo.pipeline.report_contents import report_contents
    from ngo.report.html_page import html_page

    if out.resolve().suffix != ".html":
        raise UserError(f"out: {str(out.resolve())!r} must end in .html.")
    contents = report_contents(configs)
    write_text(out, html_page(contents))
    click.echo(f"{len(contents.rows)} claims, {len(contents.shown)} tables and figures → {out}")
