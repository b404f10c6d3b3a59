"""``ngo archive``, ``rebuild``, ``restore`` and ``verify``: archives of metrics."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ngo.cli import LOG, options
from ngo.common.fields import Field, within
from ngo.pipeline.archives import archive as archives
from ngo.pipeline.archives import unpack
from ngo.pipeline.archives.finished_runs import revisions
from ngo.pipeline.archives.verify import Verification
from verdicts.archive import reported
from verdicts.members import SAFE_PATH, write_archive
from verdicts.registry import UserError

trust_option = click.option(
    "--trust-plugins", "trusted", is_flag=True, help="Run the plugins that the archive contains."
)


@click.command()
@click.argument("figures", nargs=-1)
@options.configs_option()
@click.option(
    "--finished", is_flag=True, help="Pack the runs that are finished, without tables or figures."
)
@click.option("--out", type=options.ending(".tar"), required=True, help="Archive to write (tar).")
def archive(figures: tuple[str, ...], configs: tuple[Path, ...], finished: bool, out: Path) -> None:
    r"""Pack the inputs of FIGURES as one verified archive.

    The archive holds the metrics and records of runs, tables of measurements, configs and the
    paper's numbers, and no model weights. Without FIGURES it is for all tables and
    figures. Archives are deterministic. `ngo rebuild` makes the tables and figures again.

    With --finished it holds the finished runs of a config whose other runs are not trained yet.
    For both kinds of archives, `ngo restore` puts the runs back and `ngo verify` checks them.

    Pack the demo, in the repository's folder, after `make demo`:
      ngo archive --config config/config.yaml --config config/demo.yaml \
        --out results/demo-metrics.tar
    """
    if finished:
        if figures:
            raise UserError(f"finished: it packs no figures or tables; leave out {figures[0]!r}.")
        members, counts = archives.collect_finished(configs)
        click.echo(", ".join(f"{reason}: {count}" for reason, count in counts.items()))
    else:
        members = archives.collect(configs, figures)
    digest = write_archive(out, members)
    click.echo(f"{len(members)} files → {out}, sha256 {digest}")


@click.command()
@click.argument("archive", type=options.INPUT)
@options.shown(
    "--out",
    type=options.FOLDER,
    default="results/shipped",
    help="Folder in which the archive gets its own folder.",
)
@trust_option
def rebuild(archive: Path, out: Path, trusted: bool) -> None:
    """Make all tables and figures from a metrics ARCHIVE.

    This needs no training and no GPU. It starts Snakemake, so it must run in the folder of the
    repository. A modified archive is refused, and so is one with other members than its config
    needs. Nothing that the archive contains is run, except its plugins with --trust-plugins.

    Make the tables and figures of a shipped archive:
      ngo rebuild results/archive/d2-metrics.tar
    """
    if not (unpack.SNAKEFILE.exists() and unpack.PROFILE.exists()):
        raise UserError("rebuild: no Snakefile in this folder; run it in the repository's folder.")
    read = archives.read_archive(archive)
    with archives.archived_plan(read, trusted=trusted, tell=click.echo) as planned:
        made = [name for name in read.about["artefacts"] if name in planned.artefacts]
    if left_out := [name for name in read.about["artefacts"] if name not in made]:
        click.echo(f"left out, for they read tables that the archive lacks: {', '.join(left_out)}")
    folder = unpack.unpack(read, planned, out)
    click.echo(f"tables and figures of {archive} → {folder / 'results'}")
    command = unpack.command(folder, read.about, made)
    os.execve(command[0], command, {**os.environ, **SAFE_PATH})


@click.command()
@click.argument("archive", type=options.INPUT)
@options.configs_option("those in the archive")
@trust_option
def restore(archive: Path, configs: tuple[Path, ...], trusted: bool) -> None:
    """Put the finished runs of an ARCHIVE back into results/runs.

    The workflow then trains only what is missing. Runs of another results version, and runs that
    the config does not have, are not restored, and are counted. Archives contain no models: runs
    whose models are needed are trained again. Run it in the folder of the repository.

    Put the shipped runs of the laptop tier back:
      ngo restore results/archive/laptop-metrics.tar
    """
    if not Path("Snakefile").exists():
        raise UserError("restore: no Snakefile in this folder; run it in the repository's folder.")
    read = archives.read_archive(archive)
    with unpack.chosen(read, configs, trusted=trusted, tell=click.echo) as planned:
        outcomes = unpack.restore(read, planned)
    if other := outcomes[unpack.OTHER_CODE]:
        made_by = revisions(read.runs[name].record for name in other)
        note = "runs of another results version are trained again; the revision that made them"
        LOG.warning("note: %s restores them: %s.", note, made_by)
    click.echo(unpack.told(outcomes, planned))


@click.command()
@click.argument("archive", type=options.INPUT)
@options.shown(
    "--sample",
    type=options.FieldType(Field(int, "runs and cases", within(0, 1_000_000))),
    default=3,
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
    type=options.FieldType(Field(int, "seed", within(0, 2**63 - 1))),
    help="Seed of the draw; needed if anything is drawn. Choose it after you have the archive.",
)
@options.shown(
    "--longest",
    type=options.SECONDS,
    metavar="SECONDS",
    default=30,
    help="Draw no run that took longer than this.",
)
@options.threads_option
@trust_option
@options.data_root_option
def verify(
    archive: Path,
    sample: int,
    claims: tuple[str, ...],
    seed: int | None,
    longest: float,
    threads: int | None,
    trusted: bool,
    data_root: Path,
) -> None:
    """Check an ARCHIVE: its sums, its records, and runs and measurements of a draw.

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
    read, root = archives.read_archive(archive), data_root.resolve()
    with archives.archived_plan(read, trusted=trusted, tell=click.echo) as planned:
        checks = Verification(read, planned, root, longest)
        groups = checks.groups(claims)
        failed = reported(checks.without_training(), click.echo)
        chosen = checks.draw(groups, sample, seed)
        failed += reported(checks.made_again(chosen, threads), click.echo)
    for reason, count in checks.unchecked_runs.items():
        click.echo(f"{count} of {len(checks.runs)} runs could not be drawn: {reason}")
    for name, reason in checks.unchecked_tables.items():
        click.echo(f"{name} is not checked: {reason}")
    for group, drawn in zip(groups, chosen, strict=True):
        click.echo("\n".join(checks.odds(group, drawn)))
    if failed:
        LOG.error("ngo: verify: %d failed, first %s", len(failed), failed[0])
        sys.exit(1)
