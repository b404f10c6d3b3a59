"""``ngo restore``: put the finished runs of an archive back."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.archive_options import plan_options
from ngo.cli.log import LOG
from ngo.cli.parameters import INPUT, configs_option
from ngo.common.registry import UserError
from ngo.data import download


@click.command()
@click.argument("archive", type=INPUT)
@configs_option("those in the archive")
@plan_options
def restore(
    archive: Path,
    configs: tuple[Path, ...],
    trusted: bool,
    data_root: Path | None,
) -> None:
    """Put the finished runs of an ARCHIVE back into results/runs.

    Snakemake then trains only what is missing. Runs of other code, and runs that the config does
    not have, are not restored, and are counted. Archives contain no models: runs whose models are
    needed are trained again. Partitions are drawn again. It starts Snakemake, so it must run in the
    folder of the repository.

    Put the shipped runs of the laptop tier back:
      ngo restore results/archive/laptop-metrics.tar
    """
    if not Path("Snakefile").exists():
        raise UserError("restore: no Snakefile in this folder; run it in the repository's folder.")
    from ngo.pipeline.archives import restore as stage
    from ngo.pipeline.archives.archive import read_archive

    root = download.data_root(data_root)
    read = read_archive(archive)
    choice = stage.chosen(read, configs, trusted=trusted, tell=click.echo)
    with choice as (planned, overlays):
        found = stage.restore(read, planned, root)
        stage.record(found.files, overlays)
    for name, reason in found.no_data.items():
        LOG.warning(
            "note: partitions of %s are not drawn: %s Restore again once its files are here: "
            "without a partition, its runs are trained again.",
            name,
            reason,
        )
    if found.other_code:
        LOG.warning(
            "note: runs of other code are trained again; to restore them, check out the revision "
            "that made them: %s.",
            found.made_by,
        )
    click.echo(found.line)
