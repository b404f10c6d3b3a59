"""Write the pages of a tier's results, its assumptions, and the summary in README.md.

The numbers come from the tables and the records of runs in results/, or from a metrics archive that
has been rebuilt (``make figures-from-metrics``). docs/ has the tiers that have a shipped archive;
the pages of another tier are written to docs/ in its folder of results.
"""

from __future__ import annotations

import io
import sys
from contextlib import chdir
from pathlib import Path

import click
from PIL import Image

from ngo.cli.archive_commands import trust_option
from ngo.cli.options import FOLDER, INPUT, configs_option
from ngo.common.files import write_bytes, write_text
from ngo.pipeline import paths
from ngo.pipeline.archives.archive import archived_plan, read_archive
from ngo.pipeline.archives.unpack import unpack
from ngo.pipeline.report_contents import report_contents
from ngo.report import pages
from ngo.report.contents import SHIPPED, Contents, as_shipped, text
from verdicts.registry import UserError

COLOURS = 256


@click.command()
@configs_option("those of --archive")
@click.option("--archive", type=INPUT, help="Metrics archive, rebuilt, in place of results/.")
@click.option("--shipped", type=FOLDER, default="results/shipped", help="Where it was rebuilt.")
@trust_option
@click.option("--check", is_flag=True, help="Write nothing; fail if README.md is out of date.")
def main(
    configs: tuple[Path, ...], archive: Path | None, shipped: Path, trusted: bool, check: bool
) -> None:
    """Write the pages of results, or check that README.md has the summary of docs/results.md."""
    try:
        if check:
            sys.exit(stale())
        root = paths.REPOSITORY
        if archive is not None:
            read = read_archive(archive)
            if not read.about["whole"]:
                click.echo("no page of results: the archive has only some tables and figures")
                return
            with archived_plan(read, trusted=trusted, tell=click.echo) as planned:
                configs = tuple(map(Path, read.about["configs"]))
            root = unpack(read, planned, shipped)
        with chdir(root):
            write(report_contents(configs))
    except UserError as error:
        sys.exit(f"results page: {error}")


def write(contents: Contents) -> None:
    """Write the pages and figures of a tier, from the folder that has its results."""
    root, name, others = paths.REPOSITORY, paths.page_of(contents.tier), {}
    shipped = contents.tier in paths.shipped_metrics(root)
    docs = (root if shipped else Path(paths.tier_folder(contents.tier)).resolve()) / "docs"
    if contents.tier == paths.FIRST:
        for answer in contents.findings.answers:
            if answer.outdated:
                raise UserError(f"{answer.question} {answer.outdated}: rewrite the answer.")
        made = pages.results_markdown(contents, name)
        assumptions = text(contents.assumptions.with_name("assumptions.md"))
        made["assumptions.md"] = f"# Assumptions of the {contents.tier} tier\n\n{assumptions}"
        readme, block = root / "README.md", pages.for_readme(pages.summary(contents))
        others = {readme: pages.SUMMARY.sub(lambda _: block, text(readme), count=1)}
        others[root / SHIPPED] = as_shipped(contents)
    else:
        made = {paths.pages_of(contents.tier)[0]: pages.paper_markdown(contents, name)}
    if not shipped:
        made["play.html"] = pages.play_page()
    files = {docs / path: page for path, page in made.items()} | others
    for path, page in files.items():
        write_text(path, page)
        click.echo(f"→ {path}")
    write_images(contents, docs / "images" / name)


def write_images(contents: Contents, folder: Path) -> None:
    """Copy the figures to ``folder``, in place of the earlier ones."""
    figures = {path.name: path for entry in contents.shown for path in entry.figures}
    for path in folder.glob("*.png"):
        if path.name not in figures:
            path.unlink()
    for name, path in figures.items():
        write_bytes(folder / name, small_png(path))


def small_png(path: Path) -> bytes:
    """A smaller PNG file, with a palette: the picture's colours up to 256, else the nearest 256."""
    figure = Image.open(path).convert("RGB")
    exact = figure.getcolors(COLOURS)
    count, means = (len(exact), 0) if exact else (COLOURS, 2)
    palette = figure.quantize(count, Image.Quantize.MEDIANCUT, means, dither=Image.Dither.NONE)
    stream = io.BytesIO()
    palette.save(stream, "PNG", optimize=True)
    return stream.getvalue()


def stale() -> str | int:
    """A message if README.md does not have the summary of docs/results.md; else 0."""
    page, readme = (text(paths.REPOSITORY / name) for name in ("docs/results.md", "README.md"))
    if pages.summary_of(readme) == pages.for_readme(pages.summary_of(page)):
        return 0
    return "README.md does not have the summary of docs/results.md; run make results-page."


if __name__ == "__main__":
    main()
