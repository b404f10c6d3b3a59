"""Check that the shipped archives verify with the code that ships them.

Every run of an archive must be of the present results version, and one short run and one cheap
measurement are made again. Data sets that are not here are listed, and runs on them are not made.
An archive may be marked as made by an earlier revision: then its page must say so at the top, and
nothing else is checked.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ngo.cli.options import data_root_option
from ngo.data import download
from ngo.pipeline.archives import archive as archives
from ngo.pipeline.archives.archive import OLDER, Archive
from ngo.pipeline.archives.finished_runs import revisions
from ngo.pipeline.archives.verify import LONG, Group, Verification
from ngo.pipeline.paths import REPOSITORY, pages_of, shipped_metrics
from ngo.report.contents import text
from ngo.report.pages import warned_of
from verdicts.members import ABOUT, Members, write_archive
from verdicts.registry import UserError


@click.command()
@click.argument("files", metavar="[ARCHIVES]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--mark-older", is_flag=True, help="Only mark ARCHIVES as made by earlier code.")
@data_root_option
def main(files: tuple[Path, ...], mark_older: bool, data_root: Path) -> None:
    """Check ARCHIVES, by default those in results/archive."""
    if mark_older:
        for path in files:
            write_archive(path, older(archives.read_archive(path)))
        return
    failed = 0
    for path in files or sorted(REPOSITORY.glob("results/archive/*.tar")):
        try:
            lines = checked(path, data_root.resolve())
        except UserError as error:
            lines = [("FAIL", str(error))]
        for outcome, told in lines:
            click.echo(f"{outcome}  {path.name}: {told}")
            failed += outcome == "FAIL"
    sys.exit(failed > 0)


def checked(path: Path, root: Path) -> list[tuple[str, str]]:
    """The outcome of each check of an archive: pass, FAIL or skip, and a sentence."""
    archive = archives.read_archive(path)
    if OLDER in archive.about:
        return [marked(archive.about)]
    with archives.archived_plan(archive, trusted=False, tell=click.echo) as planned:
        return made_again(Verification(archive, planned, root), root)


def made_again(checks: Verification, root: Path) -> list[tuple[str, str]]:
    """The outcomes for an archive that is not marked.

    Of the runs whose data set is here, the shortest is made again, and the first case of a
    measurement that takes seconds.
    """
    if checks.unchecked_runs:
        reasons = ", ".join(f"{count} runs {why}" for why, count in checks.unchecked_runs.items())
        return [("FAIL", f"{reasons}; train them again, or mark it (--mark-older)")]
    names = {spec.dataset for spec in checks.planned.runs.values()}
    lacking = sorted(name for name in names if download.verify(name, root))
    skipped = [("skip", f"runs on {name}, which is not here") for name in lacking]
    here = [name for name in checks.names if checks.planned.runs[name].dataset not in lacking]
    shortest = sorted(here, key=lambda name: (checks.runs[name].seconds, name))[:1]
    cheap = sorted(name for name, table in checks.measured.items() if table.kind not in LONG)
    drawn = Group("", shortest, {name: [0] for name in cheap[:1]})
    outcomes = [*checks.without_training(), *checks.made_again([drawn])]
    wrong = [("FAIL", f"{what}: {fault}") for what, _, fault in outcomes if fault]
    made = [*drawn.runs, *drawn.cases] or ["nothing made again"]
    return [*skipped, *(wrong or [("pass", ", ".join(made))])]


def older(archive: Archive) -> Members:
    """The members of an archive, marked as made by the revisions that its records name."""
    about = {**archive.about, OLDER: revisions(run.record for run in archive.runs.values())}
    return {**archive.members, ABOUT: f"{json.dumps(about, indent=2)}\n".encode()}


def marked(about: dict) -> tuple[str, str]:
    """Whether the pages of a marked archive's tier say that an earlier revision made it."""
    shipped = about["whole"] and about["tier"] in shipped_metrics(REPOSITORY)
    pages = [f"docs/{page}" for page in pages_of(about["tier"])] if shipped else []
    told = f"marked as made by {about[OLDER]}"
    for page in pages:
        if not warned_of(text(REPOSITORY / page), about[OLDER]):
            return "FAIL", f"{told}, but {page} does not say so"
    return "pass", f"{told}, as {', '.join(pages)} say" if pages else f"{told}; it has no page"


if __name__ == "__main__":
    main()
