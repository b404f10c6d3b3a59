"""``ngo report``: the results of a tier as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.parameters import RESULT, configs_option
from ngo.common.files import write_text


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

    contents = report_contents(configs)
    write_text(out, html_page(contents))
    click.echo(f"{len(contents.rows)} claims, {len(contents.shown)} tables and figures → {out}")
