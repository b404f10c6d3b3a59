"""``ngo archive`` and ``ngo rebuild``: archives of metrics, and their tables and figures."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ngo.cli.archive_options import trust_option
from ngo.cli.parameters import FOLDER, INPUT, RESULT, configs_option
from ngo.common.registry import UserError
from ngo.pipeline.archives import rebuilding
from ngo.pipeline.archives.archive import read_archive, write_archive
from ngo.pipeline.archives.archive_plan import archived_plan
from ngo.pipeline.archives.collect import collect, collect_finished
from ngo.pipeline.archives.unpacking import unpack


@click.command()
@click.argument("figures", nargs=-1)
@configs_option()
@click.option(
    "--finished", is_flag=True, help="Pack the runs that are finished, without tables or figures."
)
@click.option("--out", type=RESULT, required=True, help="Archive to write (tar).")
def archive(
    figures: tuple[str, ...],
    configs: tuple[Path, ...],
    finished: bool,
    out: Path,
) -> None:
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
    if out.resolve().suffix != ".tar":  # so it is no file that is packed
        raise UserError(f"out: {str(out.resolve())!r} must end in .tar.")
    if finished and figures:
        raise UserError(f"finished: it packs no figures or tables; leave out {figures[0]!r}.")
    if finished:
        members, counts = collect_finished(configs)
        click.echo(", ".join(f"{reason}: {count}" for reason, count in counts.items()))
    else:
        members = collect(configs, figures)
    digest = write_archive(out, members)
    click.echo(f"{len(members)} files → {out}, sha256 {digest}")


@click.command()
@click.argument("archive", type=INPUT)
@click.option(
    "--out",
    type=FOLDER,
    default="results/shipped",
    show_default=True,
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
    if not (rebuilding.SNAKEFILE.exists() and rebuilding.PROFILE.exists()):
        raise UserError("rebuild: no Snakefile in this folder; run it in the repository's folder.")
    read = read_archive(archive)
    with archived_plan(read, trusted=trusted, tell=click.echo) as planned:
        made = [name for name in read.about["artefacts"] if name in planned.artefacts]
    left_out = [name for name in read.about["artefacts"] if name not in made]
    if left_out:
        click.echo(f"left out, for they read tables that the archive lacks: {', '.join(left_out)}")
    folder = unpack(read, planned, out)
    click.echo(f"tables and figures of {archive} → {folder / 'results'}")
    command = rebuilding.command(folder, read.about, made)
    os.execve(command[0], command, {**os.environ, **rebuilding.ENVIRONMENT})
