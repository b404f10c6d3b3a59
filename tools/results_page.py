"""Write docs/results.md from a tier's results (``make results-page``).

Every number on the page comes from the tables and the records of runs in results/. The figures are
copied to docs/images/results/, small enough for a repository.
"""

import io
import json
import sys
from itertools import groupby
from pathlib import Path

import pandas as pd
from PIL import Image

from ngo.analysis.verdicts import VERDICTS
from ngo.pipeline.artefacts import CLAIMS, Artefact, artefacts_of, tidy_table, tier_folder

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
IMAGES = DOCS / "images/results"

# Reduced forms of a figure: (width as a share, colours). The first within the limit is used.
FIGURE_BYTES = 60_000
FORMS = ((1, 256), (1, 64), (1, 24), (0.75, 64), (0.75, 24), (0.5, 64), (0.5, 24))

PAGE = """\
# Results of the {tier} tier

To reproduce these results, run

    make {tier}

(or, for a single table or figure, `snakemake table1 --cores 2 --configfile config/{tier}.yaml`).
`make results-page` writes this page. [assumptions.md](assumptions.md) lists the values that the
paper does not state, with the reason for each.

The tier has {runs} runs. Their training took {minutes:.0f} minutes in total, with torch {torch} on
{devices}, at revision
{sources}.

In the tables, a difference is decided if its 95 % interval over seeds, paired by seed, excludes 0.
The seed also determines the partition, which causes most of the variation in non-iid accuracy: the
workers own few images, and a class may be missing. The columns of means show an order; the verdicts
say which differences these seeds establish.

## The paper's claims

The number of claims by verdict. [verdicts.md](verdicts.md) explains how verdicts are made.

{verdicts}"""


def recorded(records: list[dict], *keys: str) -> str:
    """The distinct values at a path of keys in the records of runs."""
    values = set()
    for value in records:
        for key in keys:
            value = value[key]
        values.add(str(value))
    return ", ".join(sorted(values))


def revisions(records: list[dict]) -> str:
    """The revisions that trained the runs, and the number of runs without a recorded one."""
    known = [record for record in records if record["source"]]
    unknown = len(records) - len(known)
    return recorded(known, "source") + (f" (not recorded for {unknown} runs)" if unknown else "")


def check_complete(tier: str) -> None:
    """Exit unless every table and figure exists."""
    paths = [path for entry in artefacts_of().values() for path in entry.outputs(tier)]
    if absent := [path for path in paths if not (REPOSITORY / path).exists()]:
        sys.exit(f"{absent[0]} is missing (and {len(absent) - 1} more): run make {tier} first")


def text(path: str) -> str:
    """A text file of the repository."""
    return (REPOSITORY / path).read_text(encoding="utf-8")


def head(tier: str) -> str:
    """The head of the page: the runs, the machine, and the verdicts."""
    runs = pd.read_parquet(REPOSITORY / tidy_table(tier, "runs"), columns=["run"])["run"]
    records = [json.loads(text(f"results/runs/{run}/run.json")) for run in sorted(runs.unique())]
    return PAGE.format(
        tier=tier,
        runs=len(records),
        minutes=sum(record["wall_seconds"] for record in records) / 60,
        sources=revisions(records),
        torch=recorded(records, "versions", "torch"),
        devices=recorded(records, "device"),
        verdicts=verdicts(tier),
    )


def verdicts(tier: str) -> str:
    """A table of the number of claims by verdict."""
    claims = pd.read_csv(REPOSITORY / tier_folder(tier) / f"tables/{CLAIMS}.csv")
    counts = claims["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
    table = counts.rename_axis("Verdict").rename("Claims").reset_index()
    return table.to_markdown(index=False) + "\n"


def shown(entry: Artefact, tier: str) -> str:
    """The heading, figures and tables of an artefact."""
    parts = [f"### {entry.title}\n"]
    parts += [f"![{entry.title}](images/results/{name}.png)\n" for name in entry.figures]
    parts += [text(f"{tier_folder(tier)}/tables/{name}.md") for name in entry.tables]
    return "\n".join(parts)


def small(path: Path) -> bytes:
    """A figure as a PNG with few colours, in the first form within the limit."""
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
    check_complete(tier)
    sections = groupby(artefacts_of().values(), key=lambda entry: entry.section)
    parts = [head(tier)]
    for section, entries in sections:
        parts += [f"## {section}\n", *(shown(entry, tier) for entry in entries)]
    figures = REPOSITORY / tier_folder(tier) / "figures"
    IMAGES.mkdir(parents=True, exist_ok=True)
    for path in IMAGES.glob("*.png"):
        path.unlink()
    for name in (name for entry in artefacts_of().values() for name in entry.figures):
        (IMAGES / f"{name}.png").write_bytes(small(figures / f"{name}.png"))
    assumptions = text(f"{tier_folder(tier)}/tables/assumptions.md")
    assumptions = f"# Assumptions of the {tier} tier\n\n{assumptions}"
    (DOCS / "assumptions.md").write_text(assumptions, encoding="utf-8")
    (DOCS / "results.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
