"""``ngo runs``: list the runs of a config."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ngo.cli.field_options import data_root_option
from ngo.cli.log import LOG
from ngo.cli.parameters import ROOT, FieldType, configs_option
from ngo.common.fields import Field, within
from ngo.common.registry import UserError
from ngo.data import download
from ngo.pipeline.config_files import read_config
from ngo.pipeline.overview import overview, summary
from ngo.pipeline.plan import plan

CORES = FieldType(Field(int, "cores", within(1, 1024)))


@click.command()
@configs_option("one line per tier of config/")
@click.option(
    "--time",
    "timed",
    is_flag=True,
    help="Forecast hours and memory on this machine's CPU.",
)
@click.option("--cores", type=CORES, help="With --time: cores to use  [default: all]")
@click.option(
    "--results",
    type=ROOT,
    default=Path("results"),
    show_default=True,
    help="With --time: folder of finished runs, which need no time.",
)
@data_root_option
@click.option("--json", "as_json", is_flag=True, help="Print all fields of all runs as JSON.")
def runs(
    configs: tuple[Path, ...],
    timed: bool,
    cores: int | None,
    results: Path,
    data_root: Path | None,
    as_json: bool,
) -> None:
    """List the runs of a config, and their cost.

    --time measures for a minute or two. It prints the minutes of each experiment and setting, the
    share of evaluations in them, the memory of a run, and the hours of all. A run that several
    experiments share counts in the first of them. Finished runs are not forecast: further columns
    have their number and their time. The forecast is in CPU time, as if nothing else needed the
    cores.

    Mistakes in the config and in its claims are told.

    List the runs of the demo, in the repository's folder:
      ngo runs --config config/config.yaml --config config/demo.yaml
    """
    if timed and not configs:
        raise UserError("time: it forecasts one tier; name its --config.")
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
    if timed:
        from ngo.bench.forecast import forecast
        from ngo.native.pool import cores as available

        root = download.data_root(data_root, config["data"]["root"])
        for name in sorted({spec.dataset for spec in table.runs.values()}):
            download.check(name, root)
        click.echo(forecast(config, root, results=results, cores=cores or available()).as_text())
        return
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
