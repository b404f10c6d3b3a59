"""``ngo candidates``: which choices of what a paper leaves open could have printed its table?"""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.options import FOLDER, INPUT
from ngo.pipeline import paths
from verdicts.registry import one_of


@click.command()
@click.argument("paper")
@click.option("--table", help="A printed table: table1  [default: all]")
@click.option("--dataset", help="One data set  [default: all]")
@click.option("--archive", type=INPUT, help="Archive with the runs  [default: the shipped one]")
@click.option("--plants", type=click.IntRange(0), default=0, help="Plant so many known candidates.")
@click.option("--out", type=FOLDER, help="Folder  [default: results/candidates/PAPER]")
def candidates(paper: str, table: str, dataset: str, archive: Path, plants: int, out: Path) -> None:
    """Say which choices of what PAPER leaves open could have printed its table.

    The values that the text leaves open are in the section unstated of the paper's config; the runs
    are those of its shipped archive. The page has what remains of each value, the nearest choices
    that were trained, and what becomes of claims in what remains. --plants says whether the answer
    can be trusted: choices that are known are found again.

    Ask it of Table 1 of the NGO paper:
      ngo candidates ngo --table table1 --dataset mnist
    """
    from ngo.pipeline import candidates as made
    from ngo.pipeline import printed_numbers
    from ngo.pipeline.config import read_config
    from verdicts.candidates import TITLE, write

    root, claims, shipped = printed_numbers.of_paper(paper)
    numbers = printed_numbers.on_numbers(claims)
    config = read_config(root / at for at in dict.fromkeys([paths.CONFIG, paths.config_of(paper)]))
    of_paper = {k: e for k, e in config["unstated"].items() if e["paper"] == paper}
    known = sorted({made.short(claim.place) for claim in numbers.claims.values()})
    wanted = [one_of("table", made.short(table), known)] if table else known
    sets = {name: str(entry.get("where", {}).get("dataset")) for name, entry in of_paper.items()}
    kept = {one_of("dataset", dataset, sets.values())} if dataset else {*sets.values()}
    entries = {k: e for k, e in of_paper.items() if e["table"] in wanted and sets[k] in kept}
    alone = [] if dataset else [*{*wanted} - {entry["table"] for entry in entries.values()}]
    names = {name for entry in entries.values() for name in entry["runs"]}
    names |= {*(numbers.tables if alone else ())}
    taught = (root / "results/archive").glob("unstated-*.tar")
    archives = [archive] if archive else [*filter(None, [shipped]), *taught]
    read = printed_numbers.archived_tables(archives, sorted(names), click.echo)
    answers = {}
    for name, entry in entries.items():
        study = made.study(entry, numbers, {k: read[k] for k in entry["runs"] if k in read})
        answers[name] = made.report(study, claims, read, plants)
    if alone:
        pair = printed_numbers.printed_and_measured(numbers, read)
        run = wanted if table else {made.short(place) for place in pair[1]["table"]}
        answers |= {k: (made.one_candidate(*pair, k), []) for k in sorted({*alone} & {*run})}
    for name, (answer, sections) in answers.items():
        folder = (out or Path("results/candidates") / paper) / name
        write(folder, answer, sections, f"{TITLE} {paper}, {name}")
        click.echo(f"{name}: {answer} {folder}/candidates.html")
