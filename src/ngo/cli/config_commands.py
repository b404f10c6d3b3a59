"""``ngo runs`` and ``schema``: the runs of a config, and what it may have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from ngo.cli.log import LOG
from ngo.cli.options import RESULT, configs_option
from ngo.common.files import write_text
from ngo.common.registry import UserError
from ngo.pipeline.config import read_config, tiers
from ngo.pipeline.config_schema import overlay_schema
from ngo.pipeline.paths import CONFIG
from ngo.pipeline.plan import Plan, plan


def summary(plan: Plan) -> str:
    """One line about how much a plan trains."""
    runs = plan.runs.values()
    samples = sum(spec.samples for spec in runs)
    experiments, sampled = len(plan.training) - len(plan.universes), len(plan.universes)
    of = f"{experiments} experiment{'s' * (experiments != 1)}"
    of += f" and {sampled} sample{'s' * (sampled != 1)} of universes" if sampled else ""
    partitions = len(plan.partition_runs)
    return f"{len(runs)} runs of {of} on {partitions} partitions train {samples:,} samples"


def overview(folder: str | Path = CONFIG.parent) -> Iterator[str]:
    """A line for each tier in ``folder``, and for each file that is not one, with the reason."""
    found: dict[str, Path] = {}
    for paths in tiers(folder):
        path = paths[-1]
        try:
            planned = plan(read_config(paths))
            if planned.tier in found:
                raise UserError(f"tier: {planned.tier!r} is the name of {found[planned.tier]}")
        except UserError as error:
            if len(paths) == 1:
                raise
            yield f"{path} is not a tier on its own: {error}"
        else:
            found[planned.tier] = path
            yield f"{planned.tier}: {summary(planned)}"


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


@click.command()
@click.option("--out", type=RESULT, help="File to write (JSON)  [default: standard output]")
def schema(out: Path | None) -> None:
    """Print the JSON Schema of a config, for editors: they complete and check keys and names.

    With `# yaml-language-server: $schema=FILE` as its first line, a config is checked against FILE.
    The entries of plugins are known, too.

    Write the schema to a file:
      ngo schema --out ngo.schema.json
    """
    text = json.dumps(overlay_schema(), indent=2, ensure_ascii=False)
    if out is None:
        click.echo(text)
        return
    write_text(out, text + "\n")
