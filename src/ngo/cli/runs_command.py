"""``ngo runs``: list the runs of a config."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ngo.cli.log import LOG
from ngo.cli.parameters import configs_option
from ngo.pipeline.config_files import read_config
from ngo.pipeline.overview import overview, summary
from ngo.pipeline.plan import plan


@click.command()
@configs_option("one line per tier of config/")
@click.option("--json", "as_json", is_flag=True, help="Print all fields of all runs as JSON.")
def runs(configs: tuple[Path, ...], as_json: bool) -> None:
    """List the runs of a config, and count their samples.

    Mistakes in the config and in its claims are told.

    List the runs of the demo, in the repository's folder:
      ngo runs --config config/config.yaml --config config/demo.yaml
    """
    if not configs:
        for line in overview():
            click.echo(line)
        return
    config = read_config(configs)
    table = plan(config)
    if Path(table.claims).exists():
        _ = table.ledger  # it is checked
    else:
        LOG.warning("note: claims: %r is not there yet", table.claims)
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
