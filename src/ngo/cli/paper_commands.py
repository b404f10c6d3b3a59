"""``ngo reproduce`` and ``candidates``: what a paper prints, beside our runs."""

from __future__ import annotations

from pathlib import Path

import click

from ngo.cli.options import FOLDER, INPUT
from ngo.common.files import write_text
from ngo.pipeline import paths
from verdicts.cli import names, pair
from verdicts.registry import UserError, check, one_of


@click.command()
@click.argument("paper")
@click.argument("name", required=False)
@click.option("--archive", type=INPUT, help="Archive with the runs  [default: the shipped one]")
@click.option("--tier", help="Tier whose results have the runs, in place of an archive.")
@click.option("--gaps", default="method=gossip", show_default=True, metavar="COLUMN=VALUE")
@click.option("--margin", type=float, help="The largest difference that does not matter.")
@click.option("--width", type=float, help="The widest interval that tells something.")
@click.option("--by", default="table", show_default=True, help="An answer for each: COLUMN,COLUMN.")
@click.option("--from", "table", help="For init: a table in CSV, Markdown or LaTeX.")
@click.option("--out", type=FOLDER, help="Folder  [default: results/reproduction/PAPER]")
def reproduce(
    paper: str,
    name: str | None,
    archive: Path | None,
    tier: str | None,
    gaps: str,
    by: str,
    table: str | None,
    out: Path | None,
    **rule: float | None,
) -> None:
    """Compare the numbers that PAPER prints with ours: is this a reproduction?

    The numbers are those of the claims in reference/claims.yaml, in the paper's folder; the runs
    are those of its shipped archive. The page has every number and gap, an answer by a stated rule,
    what other definitions say, and how near other settings of ours come.

    Ask it of the NGO paper:
      ngo reproduce ngo --by table,dataset,partition
    Start the folder papers/NAME with the numbers of a table:
      ngo reproduce init NAME --from table.tex
    """
    if paper == "init":
        _init(name, table)
        return
    from ngo.pipeline import printed_numbers
    from verdicts import read_tables, reproduction

    _, claims, shipped = printed_numbers.of_paper(paper)
    claims = printed_numbers.on_numbers(claims)
    archive = archive or (shipped if tier is None else None)
    if archive is not None:
        tables = printed_numbers.archived_tables([archive], claims.tables, click.echo)
    else:
        tier = tier or (paths.FIRST if paper == paths.NGO else paper)
        tables = read_tables(f"{paths.tier_folder(tier)}/metrics", claims.tables)
    printed, measured = printed_numbers.printed_and_measured(claims, tables)
    answer = reproduction.reproduce(measured, printed, gaps=pair(gaps), by=names(by), **rule)
    folder = out or Path("results/reproduction") / paper
    reproduction.write(folder, answer, title=f"Is this a reproduction? {paper}")
    click.echo(f"{answer} {folder}/reproduction.html")


def _init(name: str | None, table: str | None) -> None:
    """Write papers/NAME: a config, the numbers of a table, and a claim on them."""
    from ngo.report.pages import rendered
    from verdicts import read_printed
    from verdicts.reproduction import keys_of

    check(name is not None and name.isidentifier(), "name", name, "use letters, digits and _")
    if table is None:
        raise UserError("from: it is missing; name the table with the paper's numbers.")
    config, folder = paths.config_of(name), Path(paths.reference_folder(name))
    if config.parent.exists():
        raise UserError(f"name: {str(config.parent)!r} is there already; choose another name.")
    numbers = read_printed(table)
    rows = numbers[keys_of(numbers)].to_dict("records")
    cells = {"-".join(filter(None, row.values())): row for row in rows}
    given = {"name": name, "claims": folder / "claims.yaml"}
    write_text(folder / "table.csv", numbers.to_csv(index=False, lineterminator="\n"))
    write_text(given["claims"], rendered("new_claims.yaml.jinja", cells=cells, **given))
    write_text(config, rendered("new_paper.yaml.jinja", **given))
    click.echo(f"{len(numbers)} numbers → {config.parent}; next: {given['claims']}")


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
