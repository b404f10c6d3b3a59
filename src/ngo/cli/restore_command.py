"""``ngo restore``: put the finished runs of an archive back."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.archive_options import trust_option
from ngo.cli.log import LOG
from ngo.cli.parameters import INPUT, configs_option
from ngo.common.registry import UserError


@click.command()
@click.argument("archive", type=INPUT)
@configs_option("those in the archive")
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
    from ngo.pipeline.archives import restore as stage
    from ngo.pipeline.archives.archive import read_archive

    read = read_archive(archive)
    choice = stage.chosen(read, configs, trusted=trusted, tell=click.echo)
    with choice as planned:
        found = stage.restore(read, planned)
    if found.other_code:
        LOG.warning(
            "note: runs of another results version are trained again; the revision that made them "
            "restores them: %s.",
            found.made_by,
        )
    click.echo(found.line)
