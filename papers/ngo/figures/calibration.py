"""The values that Table 1 of the paper does not state, found by trial: learning rate, batch size,
local rule, augmentation, γ, p and epochs. Nor does the paper say whether an accuracy is that of the
consensus model or the workers' mean.

A grid of these values is compared with the paper's accuracies, once by the consensus model and once
by the workers' mean. Centralized training and the ring choose; the random and the complete graph
confirm. *Look at* how far the nearest candidates are from each other and from the paper, and at the
cells that none of them meets.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ngo import plots
from ngo.analysis.calibration import HALVES, accuracies, cells_of, each_cell, ranking
from ngo.plots.declaration import Tables, figure
from ngo.plots.style import METHOD_STYLES
from ngo.printing.tables import number
from verdicts.row import ABSENT

DRAWN, RANKING, CELLS = "calibration", "calibration_ranking", "calibration_cells"

SHOWN = 6
"""Candidates of each data set in the table, for each of the two ways to count epochs."""

LEAST = 3
"""Seeds from which on a spread is shown."""

MARKERS = {None: "D", "ring": "o", "random": "^", "complete": "s"}
"""The marker of each topology; its colour shows the method."""

WAYS = ("common", "own")
"""To count epochs: the same for both halves, or each half's own."""

READING = {"consensus": "consensus model", "workers": "workers' mean"}

HALF = {"iid": "iid", "noniid": "non-iid"}

METHOD = (
    "Distance: root mean square of measured − published accuracy in percentage points, over "
    "centralized training and the ring's gossip and NGO, iid and non-iid; confirmed: the same over "
    "the random and the complete graph, which take no part in the choice"
)


@figure(
    "calibration",
    section="What the paper leaves open",
    title="Calibration: the values that the paper does not state, by trial",
    reads={
        "mnist": "calibration_mnist",
        "mnist_confirm": "calibration_mnist_confirm",
        "cifar10": "calibration_cifar10",
        "cifar10_confirm": "calibration_cifar10_confirm",
        "cifar10_centralized": "calibration_cifar10_centralized",
    },
    tables=("calibration_ranking", "calibration_cells"),
    reference="table1_classification",
)
def numbers(reference: Path, **tables: pd.DataFrame) -> Tables:
    """The cells of the nearest candidates, ``both_rankings``, and ``each_cell``."""
    table = accuracies(all_trials(tables.values()), reference)
    ranked = both_rankings(table)
    own = ranked[ranked["epochs"] == "own"]
    nearest = [cells_of(table, winner) for winner in _winners(ranked)]
    drawn = pd.concat(nearest, ignore_index=True)
    return {DRAWN: drawn, RANKING: ranked, CELLS: each_cell(table, own)}


def all_trials(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all ``tables``; a run that is in several counts once."""
    rows = [table.dropna(axis=1, how="all") for table in tables]
    return pd.concat(rows, ignore_index=True).drop_duplicates(["run", "step"], ignore_index=True)


def _winners(ranked: pd.DataFrame) -> list[dict]:
    """The nearest candidate of each data set, with its own number of epochs for each half."""
    return ranked[(ranked["rank"] == 1) & (ranked["epochs"] == "own")].to_dict("records")


def note(numbers: Tables, **inputs: object) -> str:
    """How to read the drawing."""
    return (
        "The cells of Table 1, measured against published, of the nearest candidate of each data "
        "set (with its own number of epochs for each half). On the line both are equal. Filled "
        "markers are the cells that it was chosen by; hollow ones take no part in the choice."
    )


def caption(numbers: Tables, **inputs: object) -> dict[str, str]:
    """What the tables show."""
    return {
        RANKING: f"The trials nearest to Table 1 of the paper. {METHOD} ({ABSENT}: not trained "
        "there, or diverged). Accuracy is that of the consensus model or the mean of the workers'. "
        "Each candidate is shown at its best number of epochs, first with one number for the iid "
        "and the non-iid half, then with one for each.",
        CELLS: "The cells of Table 1: the paper's accuracy in percent, that of the nearest "
        "candidate of the data set (with its own number of epochs for each half), and the nearest "
        "of any trial, which may be another one for each cell.",
    }


def show(numbers: Tables) -> Tables:
    """The tables as they are printed."""
    return {RANKING: print_ranking(numbers[RANKING]), CELLS: print_cells(numbers[CELLS])}


def both_rankings(table: pd.DataFrame) -> pd.DataFrame:
    """All candidates with the same epochs for both halves, then with each half's own.

    The column ``epochs`` is ``common`` or ``own``; see ``calibration.ranking`` for the others.
    """
    both = [ranking(table, common=kind == "common").assign(epochs=kind) for kind in WAYS]
    return pd.concat(both).sort_values(["dataset", "epochs", "rank"], ignore_index=True)


def print_ranking(ranked: pd.DataFrame) -> pd.DataFrame:
    """The printed form of the first candidates of each data set and way to count epochs."""
    rows = ranked[ranked["rank"] <= SHOWN]
    columns = {
        "Data": rows["dataset"],
        "Rank": rows["rank"].astype(str),
        "Training": [training(row) for row in rows.to_dict("records")],
        "γ": rows["gamma"].map("{:g}".format),
        "p": rows["p"].map("{:g}".format),
        "Accuracy of": rows["reading"].map(READING),
        "Epochs": [epochs(row) for row in rows.to_dict("records")],
        "Distance": rows["calibrated"].map(number),
        "Iid": rows["calibrated_iid"].map(number),
        "Non-iid": rows["calibrated_noniid"].map(number),
        "Confirmed": rows["confirmed"].map(number),
    }
    return pd.DataFrame(columns).reset_index(drop=True)


def print_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``calibration.each_cell``."""
    return pd.DataFrame(
        {
            "Data": cells["dataset"],
            "Partition": cells["half"].map(HALF),
            "Topology": cells["topology"].fillna(ABSENT),
            "Method": cells["method"],
            "Paper": cells["paper"].map(number),
            "Nearest candidate": cells["candidate"].map(number),
            "Std. over seeds": cells["std"].where(cells["seeds"] >= LEAST).map(number),
            "Nearest trial": cells["nearest"].map(number),
            "Its values": [values(row) for row in cells.to_dict("records")],
        }
    )


def values(trial: dict) -> str:
    """The values of one trial in words."""
    letters = {"gamma": "γ", "p": "p"}
    given = [f"{of} = {trial[name]:g}" for name, of in letters.items() if trial[name] is not None]
    reading = [READING[trial["reading"]]] if trial["method"] != "centralized" else []
    return ", ".join([training(trial), *given, f"{trial['epochs']:g} epochs", *reading])


def training(row: dict) -> str:
    """How a candidate is trained, in words: ``SGD, η = 0.05, batch 32``."""
    words = {"sgd": "SGD", "momentum": f"momentum {row['momentum']}", "crop_flip": "crop and flip"}
    words |= {"constant": "", "none": ""}
    rule, schedule, augmentation = (
        words.get(row[name], str(row[name]))
        for name in ("local_rule", "lr_schedule", "augmentation")
    )
    parts = [rule, f"η = {row['lr']:g}", f"batch {row['batch_size']}"]
    return ", ".join(filter(None, [*parts, schedule and f"{schedule} schedule", augmentation]))


def epochs(row: dict) -> str:
    """The epochs of the iid and the non-iid half: ``8``, or ``8 and 20``."""
    iid, noniid = (f"{row[f'epochs_{half}']:g}" for half in HALVES)
    return iid if row["epochs"] == "common" else f"{iid} and {noniid}"


def draw(numbers: Tables) -> plots.Figure:
    """Measured against published accuracy of the nearest candidate of each data set and half."""
    winners = _winners(numbers[RANKING])
    figure, panels = plots.panels(2.9 * len(winners) + 0.6, len(winners), 2)
    cells = numbers[DRAWN].groupby(["dataset", "half"])
    names = []
    for row, winner in zip(panels, winners, strict=True):
        for axis, half in zip(row, HALVES, strict=True):
            _compare(axis, cells.get_group((winner["dataset"], half)))
            chosen = f"γ = {winner['gamma']:g}, p = {winner['p']:g}"
            of = f"{winner[f'epochs_{half}']:g} epochs, {READING[winner['reading']]}"
            axis.set_xlabel(f"paper's accuracy (%)\n{training(winner)},\n{chosen}, {of}")
            names.append(f"{winner['dataset']}, {HALF[half]}")
    plots.titles(panels.flat, *names)
    plots.legend(figure, *panels.flat)
    return figure


def _compare(axis: plots.Axes, cells: pd.DataFrame) -> None:
    """A marker for each cell and the line of equality."""
    values = pd.concat([cells["paper"], cells["measured"]]).dropna()
    margin = 0.08 * (values.max() - values.min()) + 0.1
    ends = values.min() - margin, values.max() + margin
    axis.axline((ends[0], ends[0]), slope=1, color="0.7", linewidth=0.8, zorder=0)
    for cell in cells.to_dict("records"):
        style, used = METHOD_STYLES[cell["method"]], cell["chosen_by"]
        where = f", {cell['topology']}" if cell["topology"] else ""
        label = f"{style.label}{where}" + ("" if used else " (confirms)")
        marks = style.named(label).marks | {"marker": MARKERS[cell["topology"]], "markersize": 6}
        axis.plot(cell["paper"], cell["measured"], **marks, fillstyle="full" if used else "none")
    axis.set(xlim=ends, ylim=ends, aspect="equal", ylabel="measured accuracy (%)")
