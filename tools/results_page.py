"""Write docs/results.md from what a tier has made in results/: run by ``make results-page``.

Every number on the page is read from the tables and the runs' own records in results/. The figures
go to docs/images/results/, small enough for a repository.
"""

import io
import json
import sys
from itertools import groupby
from pathlib import Path

import pandas as pd
from PIL import Image

from ngo.artefacts import ARTEFACTS, Artefact, tidy_table, tier_folder

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
IMAGES = DOCS / "images/results"

# A figure is kept in the first of these (width as a share, colours) that fits into the limit.
FIGURE_BYTES = 60_000
FORMS = ((1, 256), (1, 64), (1, 24), (0.75, 64), (0.75, 24), (0.5, 64), (0.5, 24))

PAGE = """\
# Results of the {tier} tier

Made by

    make {tier}

(for one table or figure alone: `snakemake table1 --cores 2 --configfile config/{tier}.yaml`), and
written here by `make results-page`. What the paper does not state is assumed: each value, with the
reason, is in [assumptions.md](assumptions.md).

{runs} runs, whose training took {minutes:.0f} minutes one after another, by torch {torch} on
{devices}, at the revision
{sources}.

In the tables, a difference is decided where its 95 % interval over seeds, paired by seed, excludes
0. The seed draws the partition, and that decides most of a non-iid accuracy: few images are used,
and a class may be absent. The columns of means show an order; the verdicts say how much of it these
seeds establish.

## What the paper's claims come to

How many of the comparisons that each of its tables makes came out how. The claims themselves, with
the differences that decide them, are below each table.

{verdicts}"""


def recorded(records: list[dict], *keys: str) -> str:
    """The distinct values at a path of keys in the runs' records."""
    values = set()
    for value in records:
        for key in keys:
            value = value[key]
        values.add(str(value))
    return ", ".join(sorted(values))


def sources(records: list[dict]) -> str:
    """The revisions that trained the runs, and for how many of them none is on record."""
    known = [record for record in records if record["source"]]
    unknown = len(records) - len(known)
    return recorded(known, "source") + (f" (not on record for {unknown} runs)" if unknown else "")


def check(tier: str) -> None:
    """Exit unless every table and figure is there."""
    paths = [path for entry in ARTEFACTS.values() for path in entry.outputs(tier)]
    if absent := [path for path in paths if not (REPOSITORY / path).exists()]:
        sys.exit(f"{absent[0]} is not there (and {len(absent) - 1} more): make {tier} first")


def text(path: str) -> str:
    """A text file of the repository."""
    return (REPOSITORY / path).read_text(encoding="utf-8")


def head(tier: str) -> str:
    """What was trained, by what, and what it says of the claims."""
    runs = pd.read_parquet(REPOSITORY / tidy_table(tier, "runs"), columns=["run"])["run"]
    records = [json.loads(text(f"results/runs/{run}/run.json")) for run in sorted(runs.unique())]
    return PAGE.format(
        tier=tier,
        runs=len(records),
        minutes=sum(record["wall_seconds"] for record in records) / 60,
        sources=sources(records),
        torch=recorded(records, "versions", "torch"),
        devices=recorded(records, "device"),
        verdicts=verdicts(tier),
    )


def verdicts(tier: str) -> str:
    """How many claims of each table got which verdict."""
    counts = {}
    for entry in ARTEFACTS.values():
        for name in entry.tables:
            if name.endswith("_claims"):
                claims = pd.read_csv(REPOSITORY / tier_folder(tier) / f"tables/{name}.csv")
                counts[entry.title.partition(":")[0]] = claims["verdict"].value_counts()
    table = pd.DataFrame(counts).T.fillna(0).astype(int).sort_index(axis=1)
    return table.rename_axis("Table").reset_index().to_markdown(index=False) + "\n"


def shown(entry: Artefact, tier: str) -> str:
    """An artefact's heading, its figures and its tables."""
    parts = [f"### {entry.title}\n"]
    parts += [f"![{entry.title}](images/results/{name}.png)\n" for name in entry.figures]
    parts += [text(f"{tier_folder(tier)}/tables/{name}.md") for name in entry.tables]
    return "\n".join(parts)


def small(path: Path) -> bytes:
    """A figure as a PNG of few colours, of the form that the limit allows."""
    figure = Image.open(path).convert("RGB")
    for share, colours in FORMS:
        size = [round(share * side) for side in figure.size]
        resized = figure if share == 1 else figure.resize(size, Image.Resampling.LANCZOS)
        stream = io.BytesIO()
        resized.quantize(colours, dither=Image.Dither.NONE).save(stream, "PNG", optimize=True)
        if stream.tell() <= FIGURE_BYTES:
            break
    return stream.getvalue()


def main(tier: str) -> None:
    """Write the page, the list of assumptions and the figures."""
    check(tier)
    sections = groupby(ARTEFACTS.values(), key=lambda entry: entry.section)
    parts = [head(tier)]
    for section, entries in sections:
        parts += [f"## {section}\n", *(shown(entry, tier) for entry in entries)]
    figures = REPOSITORY / tier_folder(tier) / "figures"
    IMAGES.mkdir(parents=True, exist_ok=True)
    for path in IMAGES.glob("*.png"):
        path.unlink()
    for name in (name for entry in ARTEFACTS.values() for name in entry.figures):
        (IMAGES / f"{name}.png").write_bytes(small(figures / f"{name}.png"))
    assumptions = text(f"{tier_folder(tier)}/tables/assumptions.md")
    assumptions = f"# Assumptions of the {tier} tier\n\n{assumptions}"
    (DOCS / "assumptions.md").write_text(assumptions, encoding="utf-8")
    (DOCS / "results.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
