"""``ngo carry``: carry an archive over to the present code."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from ngo.cli.archive_options import SEED, longest_option, plan_of, plan_options
from ngo.cli.log import LOG
from ngo.cli.parameters import FOLDER, INPUT, RESULT, threads_option
from ngo.common.registry import UserError
from ngo.data import download


@click.command()
@click.argument("archive", type=INPUT)
@click.option("--out", type=RESULT, help="Archive to write  [default: in place]")
@click.option(
    "--seed", type=SEED, help="Draw the run of each stratum  [default: take its shortest]"
)
@longest_option("Train no run that took longer than this: its stratum is not carried over.")
@click.option("--partial", is_flag=True, help="Write also if some strata can't be carried over.")
@click.option(
    "--mark-older", is_flag=True, help="Train nothing; mark ARCHIVE as made by an earlier revision."
)
@click.option(
    "--kept",
    type=FOLDER,
    default="results/carry",
    show_default=True,
    help="Folder of the trained runs. They are not trained again when the command is repeated, or "
    "for another archive of the same runs.",
)
@threads_option
@plan_options
def carry(
    archive: Path,
    out: Path | None,
    seed: int | None,
    longest: float | None,
    partial: bool,
    mark_older: bool,
    kept: Path,
    threads: int | None,
    trusted: bool,
    data_root: Path | None,
) -> None:
    """Carry the runs of an ARCHIVE over to the present code, if it does not change them.

    Runs with the same earlier code and the same present code form a stratum. One run of each
    stratum is trained. If its metrics are the same, all runs of the stratum get the key of the
    present code, and the archive records how that was shown. Otherwise the stratum is named and
    must be trained again: the exit status is 1, and nothing is written unless --partial is given
    (docs/archives.md).

    Carry a shipped archive over, into a new file:
      ngo carry results/archive/d2-metrics.tar --out d2-metrics.tar
    """
    from ngo.pipeline.archives import carry as stage
    from ngo.pipeline.archives.archive import read_archive, write_archive
    from ngo.pipeline.archives.retraining import Retraining

    read = read_archive(archive)
    runs = dict(read.runs)
    out = out or archive
    place, kept = out.resolve(), kept.resolve()
    root = download.data_root(data_root).resolve()
    planned = plan_of(read, trusted=trusted)
    strata, refused = stage.strata(runs, planned)
    total = sum(len(each.runs) for each in strata)
    if mark_older:
        if not strata:
            raise UserError("mark_older: all runs of the archive are of the present code.")
        write_archive(place, stage.repacked(read, runs, older=True))
        click.echo(f"{total} of {len(runs)} runs are of earlier code; marked → {out}")
        return
    click.echo(f"{len(runs)} runs, {total} of earlier code in {len(strata)} strata")
    carrying = stage.Carrying(Retraining(root, planned.plugins, threads), kept, longest)
    failed = [f"{count} runs: {reason}" for reason, count in refused.items()]
    for number, stratum in enumerate(strata, start=1):
        by, start = stage.chosen(stratum, runs, seed), time.perf_counter()
        try:
            download.check(planned.runs[by].dataset, root)
            shown = carrying.shown(runs[by], planned.runs[by], stratum)
            how, fault = shown.how, shown.fault
        except UserError as error:
            how, fault = "not trained", str(error)
        took = f"{time.perf_counter() - start:.1f} s"
        what = f"{stratum.old} → {stratum.new}, {len(stratum.runs)} runs by {by}"
        told = f"{how}: {fault}" if fault else how
        click.echo(
            f"{'FAIL' if fault else 'pass'}  {number}/{len(strata)}  {what}: {told} ({took})"
        )
        if fault:
            failed.append(f"{what}: {told}")
        else:
            runs |= stage.carried_over(runs, stratum, by, shown)
    if partial or not failed:
        write_archive(place, stage.repacked(read, runs, older=bool(failed)))
        click.echo(f"→ {out}")
    if failed:
        LOG.error("ngo: carry: %d not carried over, first %s", len(failed), failed[0])
        sys.exit(1)
