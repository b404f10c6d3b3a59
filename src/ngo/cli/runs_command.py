"""``ngo runs``: list the runs of a config."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ngo.cli.options import INPUT, schema_option
from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import overview, plan, summary


@click.command()
@click.option(
    "--config",
    "configs",
    multiple=True,
    type=INPUT,
    help="Config file; later ones override  [default: one line per tier of config/]",
)
@schema_option
@click.option("--json", "as_json", is_flag=True, help="Print all fields of all runs as JSON.")
def runs(configs: tuple[Path, ...], schema: Path | None, as_json: bool) -> None:
    """List the runs of a config, and their cost."""
    if not configs:
        for line in overview(schema=schema):
            click.echo(line)
        return
    table = plan(read_config(configs), schema)
    if as_json:
        rows = [
            {"experiment": name, "id": spec.id, **spec.values()}
            for name, specs in table.training.items()
            for spec in specs
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for name, specs in table.training.items():
        click.echo(f"{name}: {len(specs)} runs")
        for spec in specs:
            click.echo(f"  {spec.id}")
    click.echo(f"{table.tier}: {summary(table)}")
