"""Write the pages of a tier's results, its assumptions, and the summary in README.md.

The numbers come from the tables and the records of runs in results/, or from a metrics archive that
has been rebuilt (``make figures-from-metrics``). docs/ shows the tiers in ``SHOWN``; the pages of
another tier are written to docs/ in its folder of results.
"""

from __future__ import annotations

import sys
from contextlib import chdir
from pathlib import Path

import click

from ngo.cli.archive_commands import trust_option
from ngo.cli.options import FOLDER, INPUT
from ngo.common.files import atomic_file, write_text
from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import archived_plan, read_archive
from ngo.pipeline.archives.unpack import unpack
from ngo.pipeline.config import SEEDS
from ngo.pipeline.paths import CONFIG, FIRST, PAPERS, page_of, shipped_metrics, tier_folder
from ngo.pipeline.report_contents import report_contents
from ngo.report.contents import SHIPPED, Contents, as_shipped, text
from ngo.report.results_markdown import for_readme, replaced, results_markdown, summary, summary_of
from ngo.report.small_images import small_png
from ngo.report.templates import play_page

REPOSITORY = Path(__file__).parents[1]


@click.command()
@click.option("--tier", default=FIRST, show_default=True, help="Tier of the results in results/.")
@click.option("--archive", type=INPUT, help="Metrics archive, rebuilt, in place of a tier.")
@click.option("--shipped", type=FOLDER, default="results/shipped", help="Where it was rebuilt.")
@trust_option
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is out of date.")
def main(tier: str, archive: Path | None, shipped: Path, trusted: bool, check: bool) -> None:
    """Write the pages of results, or check them against the results that are here."""
    try:
        if check:
            sys.exit(stale(tier))
        root, configs, whole = REPOSITORY, configs_of(tier), True
        if archive is not None:
            root, configs, whole = rebuilt(archive, shipped, trusted)
        if not whole:
            click.echo("no page of results: the archive has only some tables and figures")
            return
        with chdir(root):
            contents = report_contents(configs)
            of_tier = root.resolve() / tier_folder(contents.tier)
            place, found = REPOSITORY, pages(contents)
            if contents.tier not in shipped_metrics(REPOSITORY):
                place, found = of_tier, found | {"docs/play.html": play_page()}
            for path, page in found.items():
                write_text(place / path, page)
                click.echo(f"→ {place / path}")
            write_images(contents, place / "docs/images" / page_of(contents.tier))
    except UserError as error:
        sys.exit(f"results page: {error}")


def configs_of(tier: str) -> list[Path]:
    """The config files of a tier, or of a paper of that name, from the repository's folder."""
    own = PAPERS / tier / CONFIG.name
    last = own if (REPOSITORY / own).exists() else CONFIG.with_name(f"{tier}.yaml")
    added = last.with_name(f"{SEEDS}{tier}.yaml")
    return [CONFIG, last, *([added] if (REPOSITORY / added).exists() else [])]


def rebuilt(archive: Path, shipped: Path, trusted: bool) -> tuple[Path, list[Path], bool]:
    """Where an archive is unpacked, its config files from there, and whether it has everything."""
    read = read_archive(archive)
    with archived_plan(read, trusted=trusted, tell=click.echo) as planned:
        pass
    return (
        unpack(read, planned, shipped),
        [Path(name) for name in read.about["configs"]],
        read.about["whole"],
    )


def pages(contents: Contents) -> dict[str, str]:
    """The files, by their paths in the repository."""
    page = page_of(contents.tier)
    listed = "assumptions" if contents.tier == FIRST else f"{page}-assumptions"
    assumptions = text(contents.assumptions.with_name("assumptions.md"))
    found = results_markdown(contents, page, f"{listed}.md")
    found[f"{listed}.md"] = f"# Assumptions of the {contents.tier} tier\n\n{assumptions}"
    found = {f"docs/{name}": written for name, written in found.items()}
    if contents.tier == FIRST:
        block = for_readme(summary(contents, page), page)
        found[SHIPPED.as_posix()] = as_shipped(contents)
        found["README.md"] = replaced(text(REPOSITORY / "README.md"), block)
    return found


def write_images(contents: Contents, folder: Path) -> None:
    """Copy the figures to ``folder``, in place of the earlier ones."""
    figures = {path.name: path for entry in contents.shown for path in entry.figures}
    for path in folder.glob("*.png"):
        if path.name not in figures:
            path.unlink()
    for name, path in figures.items():
        with atomic_file(folder / name) as temporary:
            temporary.write_bytes(small_png(path))


def stale(tier: str) -> str | int:
    """The first file that differs from what the results give; 0 if none does.

    Without results, the summary in README.md is compared with that of the page.
    """
    if (REPOSITORY / tier_folder(tier) / "tables/claims.csv").exists():
        with chdir(REPOSITORY):
            found = pages(report_contents(configs_of(tier)))
        for path, page in found.items():
            if text(REPOSITORY / path) != page:
                return f"{path} is out of date; run make results-page."
    page, readme = (text(REPOSITORY / name) for name in ("docs/results.md", "README.md"))
    if summary_of(readme) != for_readme(summary_of(page), "results"):
        return "README.md does not have the summary of docs/results.md; run make results-page."
    return 0


if __name__ == "__main__":
    main()
