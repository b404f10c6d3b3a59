"""``ngo report``: the results of a tier as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.parameters import RESULT, configs_option
from ngo.common.files import write_text
from ngo.common.paths import same_file
from ngo.common.registry import UserError


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
    for table in (
        contents.assumptions,
        *(each for entry in contents.shown for each in entry.tables),
    ):
        if same_file(out, f"{table}.html"):
            raise UserError(f"out: {str(out)!r} is a table of the page; choose another path.")
    write_text(out, html_page(contents))
    click.echo(f"{len(contents.rows)} claims, {len(contents.shown)} tables and figures → {out}")
