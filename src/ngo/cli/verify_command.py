"""``ngo verify``: retrain some runs of an archive, and compare."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ngo.cli.field_options import data_root_option
from ngo.cli.log import LOG
from ngo.cli.options import INPUT, FieldType, schema_option, trust_option
from ngo.cli.train_command import SECONDS, THREADS
from ngo.common.fields import Field, within
from ngo.common.registry import UserError
from ngo.data import download

SAMPLE = FieldType(Field(int, "runs", **within(0, 1_000_000)))
SEED = FieldType(Field(int, "seed", **within(0, 2**63 - 1)))


@click.command()
@click.argument("archive", type=INPUT)
@click.option("--sample", type=SAMPLE, default=3, show_default=True, help="Runs to retrain.")
@click.option(
    "--seed",
    type=SEED,
    required=True,
    help="Seed by which runs are drawn. Choose it after you have the archive.",
)
@click.option(
    "--longest", type=SECONDS, metavar="SECONDS", help="Draw no run that took longer than this."
)
@click.option(
    "--other-code", is_flag=True, help="Draw runs of other code too, and train them with this one."
)
@click.option("--threads", type=THREADS, help="Threads: 1 to 1024  [default: all cores]")
@trust_option
@schema_option
@data_root_option
def verify(
    archive: Path,
    sample: int,
    seed: int,
    longest: float | None,
    other_code: bool,
    threads: int | None,
    trusted: bool,
    schema: Path | None,
    data_root: Path | None,
) -> None:
    """Check an ARCHIVE: its sums, its tables, and runs that the seed draws.

    Tables must equal the rows of their runs. The drawn runs are trained again; their metrics must
    be the same bit for bit on the kind of processor that made them, and elsewhere within what two
    roundings of the run differ by (docs/archives.md). Runs that other code made are not drawn:
    check out the revision that made them. Exit status 1 if a check fails.
    """
    from ngo.pipeline import verify as stage
    from ngo.pipeline.archive import read_archive, runs_of
    from ngo.pipeline.archive_plan import archived_plan
    from ngo.pipeline.packed_runs import revisions
    from ngo.pipeline.retraining import Retraining

    members = read_archive(archive)
    runs = runs_of(archive, members)
    root = download.data_root(data_root).resolve()
    own = archived_plan(archive, members, trusted=trusted, tell=click.echo, schema=schema)
    planned = click.get_current_context().with_resource(own)
    click.echo(f"pass  sums: {len(members)} files of the archive are intact")
    failed = []

    def tell(what: str, how: str, fault: str | None) -> None:
        click.echo(f"{'FAIL' if fault else 'pass'}  {what}: {fault or how}")
        if fault:
            failed.append(f"{what}: {fault}")

    for name, fault in stage.faults(members, runs, planned):
        tell(name, "as in the runs", fault)
    names, unchecked = stage.drawable(runs, planned, longest, other_code)
    if sample and not names:
        reasons = ", ".join(f"{count} {reason}" for reason, count in unchecked.items())
        raise UserError(
            f"verify: no run can be retrained: {reasons or 'the archive has none'}. Runs were made "
            f"by revision {revisions(run.record for run in runs.values())}."
        )
    chosen = stage.drawn(names, sample, seed)
    for dataset in sorted({planned.runs[name].dataset for name in chosen}):
        download.check(dataset, root)
    retraining = Retraining(root, planned.plugins, threads)
    for name in chosen:
        how, fault = retraining.difference(runs[name], planned.runs[name])
        tell(name, how, fault)
    for reason, count in unchecked.items():
        click.echo(f"{count} of {len(runs)} runs could not be drawn: {reason}")
    odds = (f"{100 * f:g} %: {100 * stage.caught(len(chosen), f):.1f} %" for f in stage.SHARES)
    click.echo(
        f"{len(chosen)} of {len(names)} runs retrained; the probability of drawing a forged run, "
        f"by the share of runs that are forged: {', '.join(odds)}"
    )
    if failed:
        LOG.error("ngo: verify: %d failed, first %s", len(failed), failed[0])
        sys.exit(1)
