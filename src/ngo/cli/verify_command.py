"""``ngo verify``: make some runs and measurements of an archive again, and compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ngo.cli.archive_options import plan_of, plan_options
from ngo.cli.log import LOG
from ngo.cli.parameters import INPUT, SECONDS, FieldType, threads_option
from ngo.common.fields import Field, within
from ngo.common.registry import UserError
from ngo.data import download

if TYPE_CHECKING:
    from ngo.pipeline.archives.verification import Verification

SEED = FieldType(Field(int, "seed", within(0, 2**63 - 1)))
SAMPLE = FieldType(Field(int, "runs and cases", within(0, 1_000_000)))


@click.command()
@click.argument("archive", type=INPUT)
@click.option(
    "--sample",
    type=SAMPLE,
    default=3,
    show_default=True,
    help="Runs to train again, and cases of each measurement to measure again.",
)
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="ID",
    help="Draw among the runs and cases that decide this claim; may be repeated.",
)
@click.option(
    "--seed",
    type=SEED,
    help="Seed of the draw; needed if anything is drawn. Choose it after you have the archive.",
)
@click.option(
    "--longest",
    type=SECONDS,
    metavar="SECONDS",
    default=30,
    show_default=True,
    help="Draw no run that took longer than this.",
)
@threads_option
@plan_options
def verify(
    archive: Path,
    sample: int,
    claims: tuple[str, ...],
    seed: int | None,
    longest: float,
    threads: int | None,
    trusted: bool,
    data_root: Path | None,
) -> None:
    """Check an ARCHIVE: its sums, its records, and runs and measurements that the seed draws.

    All runs that its tables need must be there, with the values of the config. The drawn runs are
    trained again, and the drawn cases of measurements are measured again. On the kind of processor
    that made them, they must be the same bit for bit. Elsewhere, the tolerance is the difference
    between two roundings (docs/archives.md). Runs of another results version are not drawn: check
    out the revision that made them. With --claim, they are drawn for each claim, and cases of the
    theory too, which take minutes. Exit status 1 if a check fails.

    Check all sums and records of a shipped archive, without training:
      ngo verify results/archive/d2-metrics.tar --sample 0
    """
    if seed is None and sample:
        raise UserError("seed: it is missing; name one, or draw nothing with --sample 0.")
    from ngo.pipeline.archives.archive import read_archive
    from ngo.pipeline.archives.verification import Verification

    read = read_archive(archive)
    root = download.data_root(data_root).resolve()
    planned = plan_of(read, trusted=trusted)
    checks = Verification(read, planned, root, longest, threads)
    groups = checks.groups(claims)
    failed = []
    for what, how, fault in checks.without_training():
        failed += _told(what, how, fault)
    chosen = [group.drawn(sample, seed) for group in groups]
    checks.check_drawn(sample, groups, chosen)
    for what, how, fault in checks.made_again(chosen):
        failed += _told(what, how, fault)
    _tell_what_was_not_checked(checks)
    for group, drawn in zip(groups, chosen, strict=True):
        for line in group.odds(drawn):
            click.echo(line)
    if failed:
        LOG.error("ngo: verify: %d failed, first %s", len(failed), failed[0])
        sys.exit(1)


def _told(what: str, how: str, fault: str | None) -> list[str]:
    """Print the outcome of a check. Returns its failures, one or none."""
    click.echo(f"{'FAIL' if fault else 'pass'}  {what}: {fault or how}")
    return [f"{what}: {fault}"] if fault else []


def _tell_what_was_not_checked(checks: Verification) -> None:
    for reason, count in checks.unchecked_runs.items():
        click.echo(f"{count} of {len(checks.runs)} runs could not be drawn: {reason}")
    for name, reason in checks.unchecked_tables.items():
        click.echo(f"{name} is not checked: {reason}")
