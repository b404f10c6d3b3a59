"""Write docs/calibration.md from the trials of ``make calibration`` (``make calibration-page``).

Every number on the page comes from the tidy tables of the trials and the paper's numbers.
"""

import io
import sys
from pathlib import Path

import pandas as pd
from PIL import Image

from ngo.analysis.calibration import VALUES, accuracies, centralized, jointly
from ngo.figures.making import Opened
from ngo.figures.tables import number
from ngo.pipeline.archives.archive import OLDER, read_archive
from ngo.pipeline.config_files import read_config
from ngo.pipeline.places import tidy_table, tier_folder
from ngo.pipeline.plan import plan
from ngo.report.contents import warning
from ngo.training.spec import RunSpec
from verdicts.render.markdown import escaped

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
TIER = "calibration"
ARCHIVE = REPOSITORY / "results/archive/calibration-runs.tar"
CONFIG = REPOSITORY / "config/config.yaml"
CALIBRATION = Opened(REPOSITORY / "papers/ngo/figures/calibration.py")
HERE = CALIBRATION.module
NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
NEAR = 2.0  # points: a cell is met if a trial is this near
COLOURS = 32

PAGE = """\
# Calibration
{warning}
The paper does not state the learning rate η, the batch size, γ, p, the number of epochs, the local
rule or the augmentation behind its Table 1. Nor does it say whether an accuracy is that of the
consensus model (the mean of the workers' models) or the mean of the workers' accuracies. This page
compares trials of these values with the printed accuracies.

`make calibration` trains the {runs} runs of `config/calibration.yaml`; `make calibration-page`
writes this page.

## Method

A candidate is a way of training, a γ, a p, and one of the two meanings of accuracy. Its distance is
the root mean square of measured − published accuracy, in percentage points, over six cells of
Table 1: centralized training, gossip on the ring, and NGO on the ring, each iid and non-iid. The
eight cells with random and complete graphs take no part in the choice. The distance over these
cells, called confirmed, shows whether the choice holds for other graphs. It is known if these cells
were trained.

With a constant learning rate, each evaluation of a run is a trial of that many epochs. An
evaluation before a run's end uses {images:,} test images, the last one all of them. With a
schedule, only the end counts. A candidate with a diverged run has no distance.

The seed decides the partition, and the partition decides much of a non-iid accuracy. Candidates
whose distances differ by less than the standard deviations below can't be distinguished by these
seeds.

| Data | Values tried | Candidates | Runs | Seeds, iid | Seeds, non-iid |
|:-----|:-------------|-----------:|-----:|-----------:|---------------:|
{tried}

## The nearest candidates

{winners}

{ranking}
![Measured against published accuracy](images/calibration.png)

{figure}

## Cell by cell

{cells}
## What config.yaml takes

For MNIST it takes the nearest candidate that reads the accuracy of the consensus model, with its
own number of epochs for each half. For CIFAR-10 no candidate comes near. It takes a way of training
whose centralized model is among the most accurate, and the γ and p that come nearest with it.

{taken}

## What no trial meets

{missed}

## Training without a network

The accuracy of centralized training at its end, by way of training. It bounds the accuracy that a
data set's network can reach.

{centralized}
"""


def main() -> None:
    """Write the page and its figure."""
    facts, folder = CALIBRATION.facts, REPOSITORY / tier_folder(TIER)
    tables = [REPOSITORY / tidy_table(TIER, name) for name in facts.reads.values()]
    reference = REPOSITORY / f"config/reference/{facts.reference}.csv"
    inputs, outputs = [*tables, reference], [folder / path for path in facts.outputs()]
    if absent := [path for path in (*inputs, *outputs) if not path.exists()]:
        sys.exit(f"{absent[0].relative_to(REPOSITORY)} is missing: run make calibration first")
    (DOCS / "calibration.md").write_text(
        page(HERE.all_trials(map(pd.read_parquet, tables)), reference), encoding="utf-8"
    )
    (DOCS / "images/calibration.png").write_bytes(small(outputs[0]))


def warned(archive: Path) -> str:
    """A paragraph, if the shipped archive is marked as made by an earlier revision."""
    older = read_archive(archive).about.get(OLDER) if archive.exists() else None
    return f"\n**{escaped(warning(older))}**\n" if older else ""


def page(runs: pd.DataFrame, reference: Path) -> str:
    """The text of the page."""
    table = accuracies(runs, reference)
    ranked = HERE.both_rankings(table)
    specs = plan(read_config([CONFIG])).training["table1"]
    folder = REPOSITORY / tier_folder(TIER) / "tables"
    images = sorted(set(runs["eval_images"].astype(int)))
    return PAGE.format(
        warning=warned(ARCHIVE),
        runs=runs["run"].nunique(),
        images=images[0],
        tried="\n".join(tried(name, runs, ranked) for name in NAMES),
        winners="\n\n".join(winner(name, ranked) for name in NAMES),
        ranking=(folder / "calibration_ranking.md").read_text(encoding="utf-8"),
        figure="The figure shows the nearest candidate of each data set, with its own number of "
        "epochs for each half. Filled markers are the cells that it was chosen by.",
        cells=(folder / "calibration_cells.md").read_text(encoding="utf-8"),
        taken="\n".join(taken(name, ranked, specs) for name in NAMES),
        missed="\n".join(missed(name, table) for name in NAMES),
        centralized=without_network(table),
    )


def tried(dataset: str, runs: pd.DataFrame, ranked: pd.DataFrame) -> str:
    """A row of the table of what was tried."""
    own = runs[runs["dataset"] == dataset]
    symbols = {"lr": "η", "batch_size": "batch", "gamma": "γ", "local_rule": "rule"}
    read = {"gamma": own["method"] != "centralized", "p": own["method"] == "ngo"}
    lists = []
    for name in VALUES:
        found = own[read[name]] if name in read else own
        distinct = sorted(found[name].dropna().unique()) if name in own else []
        if len(distinct) > 1:
            words = ", ".join(f"{v:g}" if isinstance(v, float | int) else str(v) for v in distinct)
            lists.append(f"{symbols.get(name, name.replace('_', ' '))}: {words}")
    count = len(ranked[(ranked["dataset"] == dataset) & (ranked["epochs"] == "own")])
    seeds = own.groupby(own["partition"] == "iid")["seed"].nunique()
    cells = [
        NAMES[dataset],
        "; ".join(lists),
        count,
        own["run"].nunique(),
        seeds[True],
        seeds[False],
    ]
    return f"| {' | '.join(map(str, cells))} |"


def winner(dataset: str, ranked: pd.DataFrame) -> str:
    """What came nearest, with one number of epochs and with one for each half, and the next."""
    sentences = []
    for kind, ask in (("common", "the same number of epochs"), ("own", "its own number of epochs")):
        rows = ranked[(ranked["dataset"] == dataset) & (ranked["epochs"] == kind)]
        rows = rows.dropna(subset="calibrated")
        if rows.empty:
            sentences.append(f"With {ask} for each half, no candidate has all cells.")
            continue
        row = rows.iloc[0].to_dict()
        text = (
            f"With {ask} for each half, the nearest candidate is {described(row)}. Its distance is "
            f"{number(row['calibrated'])} points ({number(row['calibrated_iid'])} iid, "
            f"{number(row['calibrated_noniid'])} non-iid)"
        )
        if pd.isna(row["confirmed"]):
            text += "; it was not trained, or diverged, on the other graphs"
        else:
            text += f", and {number(row['confirmed'])} on the cells that were kept out"
        if len(rows) > 1:
            second = rows.iloc[1].to_dict()
            text += f". The next is at {number(second['calibrated'])}: {described(second)}"
        if pd.isna(row["confirmed"]) and rows["confirmed"].notna().any():
            there = rows[rows["confirmed"].notna()].iloc[0].to_dict()
            text += (
                f". The nearest that has all cells is {described(there)}: "
                f"{number(there['calibrated'])}, confirmed {number(there['confirmed'])}"
            )
        sentences.append(text + ".")
    return f"**{NAMES[dataset]}.** " + " ".join(sentences)


def taken(dataset: str, ranked: pd.DataFrame, specs: list[RunSpec]) -> str:
    """The candidate with the values of ``specs``, Table 1's runs, and its distances."""
    rows = ranked[(ranked["dataset"] == dataset) & (ranked["epochs"] == "own")]
    spec = next(
        spec
        for spec in specs
        if (spec.dataset, spec.method, spec.topology) == (dataset, "ngo", "ring")
    )
    same = rows["reading"] == "consensus"
    for name in VALUES:
        value = getattr(spec, name)
        same &= rows[name].isna() if value is None else rows[name] == value
    if not same.any():
        return f"- **{NAMES[dataset]}.** No candidate has the values of config.yaml."
    row = rows[same].iloc[0].to_dict()
    confirmed = "not known" if pd.isna(row["confirmed"]) else f"{number(row['confirmed'])} points"
    return (
        f"- **{NAMES[dataset]}.** {described(row)}: rank {row['rank']} of {len(rows)}; distance "
        f"{number(row['calibrated'])} points, confirmed: {confirmed}."
    )


def described(row: dict) -> str:
    """A candidate in words."""
    return (
        f"{HERE.training(row)}, γ = {row['gamma']:g}, p = {row['p']:g}, {HERE.epochs(row)} epochs, "
        f"accuracy of the {HERE.READING[row['reading']]}"
    )


def missed(dataset: str, table: pd.DataFrame) -> str:
    """The cells that no trial comes near to, and the trial nearest to all graphs."""
    own = table[table["dataset"] == dataset]
    lines = []
    for (half, topology, method), cell in own.groupby(
        ["half", "topology", "method"], dropna=False, sort=False
    ):
        cell = cell.dropna(subset="measured")
        if cell.empty:
            continue
        best = cell.loc[(cell["measured"] - cell["paper"]).abs().idxmin()].to_dict()
        if abs(best["measured"] - best["paper"]) <= NEAR:
            continue
        where = "" if topology is None or pd.isna(topology) else f", {topology} graph"
        lines.append(
            f"- {HERE.HALF[half]}, {method}{where}: {number(best['paper'])} % in the paper, "
            f"{number(best['measured'])} % in the nearest trial ({HERE.values(best)})."
        )
    for method in ("gossip", "ngo"):
        for best in jointly(own, method, "noniid").head(1).to_dict("records"):
            ours, theirs = (
                ", ".join(number(best[f"{of}{name}"]) for name in ("ring", "random", "complete"))
                for of in ("", "paper_")
            )
            lines.append(
                f"- non-iid, {method}, ring, random and complete graph at once: {theirs} % in "
                f"the paper, {ours} % in the nearest trial, at a distance of "
                f"{number(best['distance'])} ({HERE.values({**best, 'method': method})})."
            )
    head = f"**{NAMES[dataset]}.** Cells that no trial meets within {NEAR:g} points, and the one "
    return head + "trial nearest to all graphs:\n\n" + "\n".join(lines) + "\n"


def without_network(table: pd.DataFrame) -> str:
    """A table of centralized training."""
    rows = centralized(table)
    printed = pd.DataFrame(
        {
            "Data": rows["dataset"],
            "Partition": rows["half"].map(HERE.HALF),
            "Training": [HERE.training(row) for row in rows.to_dict("records")],
            "Epochs": [f"{value:g}" for value in rows["epochs"]],
            "Measured": [number(value) for value in rows["measured"]],
            "Paper": [number(value) for value in rows["paper"]],
        }
    )
    return printed.to_markdown(index=False, disable_numparse=True)


def small(path: Path) -> bytes:
    """A figure with few colours."""
    stream = io.BytesIO()
    picture = Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(stream, "PNG", optimize=True)
    return stream.getvalue()


if __name__ == "__main__":
    main()
