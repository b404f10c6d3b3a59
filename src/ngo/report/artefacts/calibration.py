"""The values that the paper does not state: the trials nearest to its accuracies."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.calibration import (
    CALIBRATED,
    HALVES,
    accuracies,
    beside_each_cell,
    cells_of,
    ranking,
)
from ngo.figures import captions, plots
from ngo.figures.output import Output
from ngo.figures.style import METHOD_STYLES, house_style
from ngo.figures.tables import number, save_table
from verdicts.row import ABSENT

SHOWN = 6
"""Candidates of each data set in the table, for each of the two ways to count epochs."""

LEAST = 3
"""Seeds from which on a spread is shown."""

MARKERS = {None: "D", "ring": "o", "random": "^", "complete": "s"}
"""The marker of each topology; its colour shows the method."""

READING = {"consensus": "consensus model", "workers": "workers' mean"}

HALF = {"iid": "iid", "noniid": "non-iid"}

METHOD = (
    "Distance: root mean square of measured − published accuracy in percentage points, over "
    "centralized training and the ring's gossip and NGO, iid and non-iid; confirmed: the same over "
    "the random and the complete graph, which take no part in the choice"
)

FIGURE = (
    "The cells of Table 1, measured against published, of the nearest candidate of each data set "
    "(with its own number of epochs for each half). On the line both are equal. Filled markers are "
    "the cells that it was chosen by; hollow ones take no part in the choice."
)


@house_style()
def make(
    mnist: str | Path,
    mnist_confirm: str | Path,
    cifar10: str | Path,
    cifar10_confirm: str | Path,
    cifar10_centralized: str | Path,
    reference: str | Path,
    tier: str,
    out: str | Path,
) -> Output:
    """Compute the table and draw the figure from the metrics of all trials."""
    paths = (mnist, mnist_confirm, cifar10, cifar10_confirm, cifar10_centralized)
    runs = together(pd.read_parquet(path) for path in paths)
    table = accuracies(runs, reference)
    ranked = both_rankings(table)
    made_by = captions.made_by(tier, runs)
    printed = print_ranking(ranked)
    save_table(
        ranked.assign(tier=tier),
        printed,
        f"{out}/tables/calibration",
        f"The trials nearest to Table 1 of the paper. {METHOD} ({ABSENT}: not trained there, or "
        "diverged). Accuracy is that of the consensus model or the mean of the workers'. Each "
        "candidate is shown at its best number of epochs, first with one number for the iid and "
        f"the non-iid half, then with one for each. {made_by}",
    )
    cells = beside_each_cell(table, ranked[ranked["epochs"] == "own"])
    beside = print_cells(cells)
    save_table(
        cells.assign(tier=tier),
        beside,
        f"{out}/tables/calibration_cells",
        "The cells of Table 1: the paper's accuracy in percent, that of the nearest candidate of "
        "the data set (with its own number of epochs for each half), and the nearest of any trial, "
        f"which may be another one for each cell. {made_by}",
    )
    figure, shown = draw(table, ranked)
    plots.caption(figure, FIGURE, made_by)
    picture = plots.save_figure(figure, f"{out}/figures/calibration", shown.assign(tier=tier))
    return Output(picture, tables=(printed, beside))


def together(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all ``tables``; a run that is in several counts once."""
    rows = [table.dropna(axis=1, how="all") for table in tables]
    return pd.concat(rows, ignore_index=True).drop_duplicates(["run", "step"], ignore_index=True)


def both_rankings(table: pd.DataFrame) -> pd.DataFrame:
    """All candidates with the same epochs for both halves, then with each half's own.

    The column ``epochs`` is ``common`` or ``own``; see ``calibration.ranking`` for the others.
    """
    kinds = {"common": True, "own": False}
    parts = [ranking(table, common=common).assign(epochs=kind) for kind, common in kinds.items()]
    return pd.concat(parts, ignore_index=True).sort_values(
        ["dataset", "epochs", "rank"], ignore_index=True
    )


def print_ranking(ranked: pd.DataFrame, most: int = SHOWN) -> pd.DataFrame:
    """The printed form of the first ``most`` candidates of each data set and way to count."""
    rows = ranked[ranked["rank"] <= most]
    columns = {
        "Data": rows["dataset"],
        "Rank": rows["rank"].astype(str),
        "Training": [training(row) for row in rows.to_dict("records")],
        "γ": [f"{gamma:g}" for gamma in rows["gamma"]],
        "p": [f"{p:g}" for p in rows["p"]],
        "Accuracy of": rows["reading"].map(READING),
        "Epochs": [epochs(row) for row in rows.to_dict("records")],
        "Distance": [number(value) for value in rows["calibrated"]],
    }
    for half, name in HALF.items():
        columns[f"{name[:1].upper()}{name[1:]}"] = [
            number(value) for value in rows[f"calibrated_{half}"]
        ]
    columns["Confirmed"] = [number(value) for value in rows["confirmed"]]
    return pd.DataFrame(columns).reset_index(drop=True)


def print_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``calibration.beside_each_cell``."""
    return pd.DataFrame(
        {
            "Data": cells["dataset"],
            "Partition": cells["half"].map(HALF),
            "Topology": cells["topology"].fillna(ABSENT),
            "Method": cells["method"],
            "Paper": [number(value) for value in cells["paper"]],
            "Nearest candidate": [number(value) for value in cells["candidate"]],
            "Std. over seeds": [
                number(std) if seeds >= LEAST else ABSENT
                for std, seeds in zip(cells["std"], cells["seeds"], strict=True)
            ],
            "Nearest trial": [number(value) for value in cells["nearest"]],
            "Its values": [values(row) for row in cells.to_dict("records")],
        }
    )


def values(trial: dict) -> str:
    """The values of one trial in words."""
    parts = [training(trial)]
    parts += [
        f"{letter} = {trial[name]:g}"
        for name, letter in (("gamma", "γ"), ("p", "p"))
        if trial[name] is not None
    ]
    parts.append(f"{trial['epochs']:g} epochs")
    if trial["method"] != "centralized":
        parts.append(READING[trial["reading"]])
    return ", ".join(parts)


def training(row: dict) -> str:
    """How a candidate is trained, in words: ``SGD, η = 0.05, batch 32``."""
    words = {"sgd": "SGD", "momentum": f"momentum {row['momentum']}"}
    parts = [words.get(row["local_rule"], str(row["local_rule"]))]
    parts += [f"η = {row['lr']:g}", f"batch {row['batch_size']}"]
    if row["lr_schedule"] != "constant":
        parts.append(f"{row['lr_schedule']} schedule")
    if row["augmentation"] != "none":
        parts.append({"crop_flip": "crop and flip"}.get(row["augmentation"], row["augmentation"]))
    return ", ".join(parts)


def epochs(row: dict) -> str:
    """The epochs of the iid and the non-iid half: ``8``, or ``8 and 20``."""
    iid, noniid = (f"{row[f'epochs_{half}']:g}" for half in HALVES)
    return iid if row["epochs"] == "common" else f"{iid} and {noniid}"


def draw(table: pd.DataFrame, ranked: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Measured against published accuracy of the nearest candidate of each data set and half."""
    winners = ranked[(ranked["rank"] == 1) & (ranked["epochs"] == "own")]
    figure = plots.new_figure(2.9 * len(winners) + 0.6)
    panels = figure.subplots(len(winners), 2, squeeze=False)
    shown, names = [], []
    for row, winner in zip(panels, winners.to_dict("records"), strict=True):
        cells = cells_of(table, winner)
        shown.append(cells)
        for axis, half in zip(row, HALVES, strict=True):
            _compare(axis, cells[cells["half"] == half])
            at = f"{winner[f'epochs_{half}']:g} epochs"
            axis.set_xlabel(f"paper's accuracy (%)\n{training(winner)},\n"
                            f"γ = {winner['gamma']:g}, p = {winner['p']:g}, {at}, "
                            f"{READING[winner['reading']]}")  # fmt: skip
            names.append(f"{winner['dataset']}, {HALF[half]}")
    plots.titles(panels.flat, *names)
    plots.legend(figure, *panels.flat)
    return figure, pd.concat(shown, ignore_index=True)


def _compare(axis: Axes, cells: pd.DataFrame) -> None:
    """A marker for each cell and the line of equality."""
    values = pd.concat([cells["paper"], cells["measured"]]).dropna()
    margin = 0.08 * (values.max() - values.min()) + 0.1
    ends = values.min() - margin, values.max() + margin
    axis.axline((ends[0], ends[0]), slope=1, color="0.7", linewidth=0.8, zorder=0)
    for cell in cells.to_dict("records"):
        style = METHOD_STYLES[cell["method"]]
        used = (cell["topology"], cell["method"]) in CALIBRATED
        where = f", {cell['topology']}" if cell["topology"] else ""
        axis.plot(
            cell["paper"],
            cell["measured"],
            MARKERS[cell["topology"]],
            color=style.colour,
            fillstyle="full" if used else "none",
            markersize=6,
            label=f"{style.label}{where}" + ("" if used else " (confirms)"),
        )
    axis.set(xlim=ends, ylim=ends, aspect="equal", ylabel="measured accuracy (%)")
