"""``ngo decide``: add seeds to undecided claims."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
import yaml

from ngo.cli.parameters import ROOT, FieldType, configs_option
from ngo.common.fields import Field, within
from ngo.common.files import write_text
from ngo.pipeline.config_files import CONFIG, read_config, seeds_overlay
from ngo.pipeline.plan import plan

if TYPE_CHECKING:
    from ngo.pipeline.decide import Decisions

HOURS = FieldType(Field(float, "hours", within(0, 1_000_000)))
CORES = FieldType(Field(int, "cores", within(1, 1024)))

HEAD = """\
# Written by `ngo decide`: seeds that were added to undecided claims, each experiment for the claim
# that it names, at the values that the seeds of the first look chose. Name it after the other
# config files of the tier.
"""


@click.command()
@configs_option()
@click.option("--hours", type=HOURS, required=True, help="Hours that the added runs may take.")
@click.option("--dry-run", is_flag=True, help="Write no file.")
@click.option("--cores", type=CORES, help="Cores to use  [default: all]")
@click.option(
    "--results", type=ROOT, default=Path("results"), show_default=True, help="Folder of results."
)
def decide(
    configs: tuple[Path, ...], hours: float, dry_run: bool, cores: int | None, results: Path
) -> None:
    """Add seeds to the undecided claims of a tier, up to the next look of their plan.

    The claims file fixes the numbers of seeds at which claims are judged (looks). The added seeds
    run what a claim compares, at the values that the seeds of the first look chose. Claims that are
    likely to be decided in little time come first. The times are those of finished runs.

    It writes decide-TIER.yaml next to the last config, with an experiment for each claim, and says
    how to train it. That file stays one of the tier's config files. A later call reads it, keeps
    the seeds that were trained, and adds more.

    Add two hours of seeds to the laptop tier, after `make laptop`:
      ngo decide --config config/config.yaml --config config/laptop.yaml --hours 2
    """
    from ngo.native.pool import cores as available
    from ngo.pipeline.decide import decisions, read_tables_of

    config = read_config(configs)
    path = seeds_overlay(configs[-1], config.get("tier"))
    earlier = read_config([path]) if os.path.exists(path) else {}
    config = read_config(dict.fromkeys([*configs, *([path] if earlier else [])]))
    planned = plan(config)
    tables = read_tables_of(planned, results / planned.tier / "metrics")
    jobs = max(1, (cores or available()) // config["threads"])
    found = decisions(config, planned, tables, results, hours=hours, jobs=jobs, earlier=earlier)
    for line in lines(found, jobs):
        click.echo(line)
    if not found.chosen:
        click.echo(_nothing(found))
    elif not dry_run:
        text = yaml.safe_dump(found.overlay, sort_keys=False, default_flow_style=None, width=120)
        write_text(path, HEAD + text)
        named = " ".join(str(each) for each in dict.fromkeys([*configs, path]) if each != CONFIG)
        click.echo(f"{path} is written. Train and judge:")
        click.echo(f"  snakemake claims --cores all --configfile {named}")


def _nothing(found: Decisions) -> str:
    if not found.undecided:
        return "Nothing is undecided."
    return "No seeds are added" + ("; give more hours." if found.left else ".")


def lines(found: Decisions, jobs: int) -> Iterator[str]:
    """What is said of the decisions: a table of looks, and what it takes to decide."""
    from tabulate import tabulate

    share = found.undecided / found.claims if found.claims else 0.0
    yield f"undecided: {found.undecided} of {found.claims} claims ({share:.0%})"
    rows, costs = [], {}
    for look in (*found.chosen, *found.left):
        row = {
            "claim": look.claim,
            "seeds": look.seeds,
            "next look": look.look,
            "runs": sum(run not in costs for run in look.costs),
            "hours": _hours(look.seconds(costs), jobs),
            "chance": "" if math.isnan(look.chance) else f"{look.chance:.0%}",
        }
        rows.append(row | ({} if look in found.chosen else {"": "beyond the hours"}))
        costs |= look.costs
    if rows:
        taken = {run: cost for look in found.chosen for run, cost in look.costs.items()}
        needed = [look.to_decide for look in (*found.chosen, *found.left)]
        able = [seconds for seconds in needed if math.isfinite(seconds)]
        yield tabulate(rows, headers="keys", disable_numparse=True, stralign="right")
        yield f"chosen: {_told(found.chosen, taken, jobs)}; all: {_told(rows, costs, jobs)}"
        yield (
            f"{_hours(sum(able), jobs)} hours would decide {len(able)} of these {len(rows)} with a "
            "power of 80 %, if what was measured is true; the others need more seeds than planned"
        )
    for claim, reason in found.reasons.items():
        yield f"{claim}: more seeds can't decide it: {reason}"


def _told(looks: list, costs: Mapping[str, float], jobs: int) -> str:
    plural = "" if len(looks) == 1 else "s"
    hours = _hours(sum(costs.values()), jobs)
    return f"{len(looks)} look{plural}, {len(costs)} runs, {hours} hours"


def _hours(seconds: float, jobs: int) -> str:
    return f"{seconds / jobs / 3600:.2f}"
