"""``ngo assumptions``: list the values that the paper leaves open."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.parameters import RESULT, configs_option
from ngo.common.files import write_text
from ngo.common.registry import UserError
from ngo.pipeline import assumptions as found_assumptions
from ngo.pipeline.config_files import read_config


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
    found = found_assumptions.of_paper(configs)
    tier = read_config(configs)["tier"]
    forms = {".md": found_assumptions.as_markdown, ".html": found_assumptions.as_html}
    for out in outs:
        if out.suffix not in forms:
            raise UserError(f"out: {str(out)!r} must end in {' or '.join(forms)}.")
        write_text(out, forms[out.suffix](found, tier))
    where = ", ".join(map(str, outs))
    text = (
        f"{len(found)} value{'s' * (len(found) != 1)} → {where}"
        if outs
        else forms[".md"](found, tier)
    )
    click.echo(text)
