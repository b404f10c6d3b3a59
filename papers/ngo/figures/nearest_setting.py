"""Could any setting give the numbers of the paper's Table 1? Of all universes (choices of values
that the paper leaves open) in which all seven cells were trained, the nearest to the printed
accuracies. It is chosen by one half of the cells and confirmed by the other. A second table has,
for each cell, the accuracies of all universes, and how many of them meet the printed number.

*Look at* the distance in the cells that did not choose, next to that of a typical universe; and at
cells that no universe meets. A few printed numbers may be met by chance, each in another universe:
the last columns say how many are met at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ngo.analysis.published import published_for
from ngo.analysis.universes import CHOSEN
from ngo.plots.declaration import Tables, table
from verdicts.row import ABSENT
from verdicts.statistics.estimates import exceeds
from verdicts.statistics.rules import spoken

NEAREST, CELLS = "nearest_setting", "nearest_setting_cells"
TOLERANCE = 2.0
"""A printed number is met by an accuracy that is at most so many points off."""

CHANCE = 10.0
"""The accuracy in percent of a diverged run: ten classes."""

CELL = ["topology", "method"]
SAMPLE = ["dataset", "partition"]
ONE_HALF = [(ABSENT, "centralized"), ("ring", "gossip"), ("random", "ngo"), ("complete", "gossip")]
OTHER_HALF = [("ring", "ngo"), ("random", "gossip"), ("complete", "ngo")]


@table(
    "nearest_setting",
    section="What the paper leaves open",
    title="The sampled setting that is nearest to Table 1",
    reads="universes_*",
    tables=("nearest_setting_cells",),
    reference="table1_classification",
    apart=None,
)
def numbers(metrics: Mapping[str, pd.DataFrame], reference: Path) -> Tables:
    """The nearest universes of each sample that has all seven cells, and its accuracies by cell."""
    found: dict[str, list[dict[str, object]]] = {NEAREST: [], CELLS: []}
    for runs in metrics.values():
        for sample, own in runs.groupby(SAMPLE):
            reached = accuracies(own).reindex(columns=[*ONE_HALF, *OTHER_HALF])
            if reached.isna().any(axis=None):  # not all cells were trained
                continue
            facts, printed = dict(zip(SAMPLE, sample, strict=True)), _printed(own, reference)
            if printed.notna().all():
                found[NEAREST] += [{**facts, **row} for row in _nearest(reached, printed, own)]
                found[CELLS] += [{**facts, **row} for row in _cells(reached, printed)]
    return {name: pd.DataFrame(rows) for name, rows in found.items()}


def accuracies(runs: pd.DataFrame) -> pd.DataFrame:
    """The accuracy in percent at the end: a row for each universe, a column for each cell.

    It is the mean over seeds. A cell in which a run diverged has chance level, 10 %.
    """
    last = runs.sort_values("step").groupby(["universe", "run"]).tail(1)
    of = CHOSEN if CHOSEN in last else "consensus_accuracy"
    value = (100 * last[of]).mask(last["diverged"].astype(bool), CHANCE)
    last = last.assign(value=value, topology=last["topology"].fillna(ABSENT))
    return last.pivot_table("value", "universe", CELL)


def _printed(runs: pd.DataFrame, reference: Path) -> pd.Series:
    """The printed accuracy of each cell."""
    one = runs.drop_duplicates(CELL)
    value = published_for(one, reference, "test_accuracy_percent")
    return one.assign(topology=one["topology"].fillna(ABSENT), value=value).set_index(CELL)["value"]


def distance(reached: pd.DataFrame, printed: pd.Series, cells: list[tuple[str, str]]) -> pd.Series:
    """The root mean square of reached − printed over some cells, in points, by universe."""
    return ((reached[cells] - printed[cells]) ** 2).mean(axis=1) ** 0.5


def _nearest(reached: pd.DataFrame, printed: pd.Series, runs: pd.DataFrame) -> list[dict]:
    """The universe that one half of the cells chooses, and its distance in the other; twice."""
    rows = []
    met = _met(reached, printed).sum(axis=1)
    for chosen_by, confirmed_by in ((ONE_HALF, OTHER_HALF), (OTHER_HALF, ONE_HALF)):
        choosing = distance(reached, printed, chosen_by)
        confirming = distance(reached, printed, confirmed_by)
        best = choosing.idxmin()
        values = runs[runs["universe"] == best].filter(like="universe_").iloc[0]
        told = [f"{spoken(key.removeprefix('universe_'))} {each}" for key, each in values.items()]
        rows.append(
            {
                "chosen_by": ", ".join(map(_name, chosen_by)),
                **{"universes": len(reached), "universe": best},
                "distance_chosen": choosing[best],
                "distance_confirmed": confirming[best],
                "median_confirmed": confirming.median(),
                "least_confirmed": confirming.min(),
                **{"cells_met": met[best], "most_cells_met": met.max(), "values": ", ".join(told)},
            }
        )
    return rows


def _met(reached: Any, printed: Any) -> Any:
    """Which accuracies are the printed ones, within ``TOLERANCE``."""
    return ~exceeds((reached - printed).abs(), TOLERANCE)


def _cells(reached: pd.DataFrame, printed: pd.Series) -> list[dict]:
    """How near the universes come to each cell, and to gossip's random graph − ring."""
    every = {_name(cell): (reached[cell], printed[cell]) for cell in [*ONE_HALF, *OTHER_HALF]}
    random, ring = ("random", "gossip"), ("ring", "gossip")
    every["random − ring gossip"] = reached[random] - reached[ring], printed[random] - printed[ring]
    return [
        {
            **{"cell": name, "printed": wanted},
            **{"least": values.min(), "median": values.median(), "most": values.max()},
            **{"universes": len(values), "met_by": int(_met(values, wanted).sum())},
        }
        for name, (values, wanted) in every.items()
    ]


def _name(cell: tuple[str, str]) -> str:
    return " ".join(each for each in cell if each != ABSENT)


def show(numbers: Tables) -> Tables:
    """Both tables as they are printed."""
    near, cells = numbers[NEAREST], numbers[CELLS]
    shown = [
        {
            **{"Data": row.dataset, "Partition": row.partition, "Chosen by": row.chosen_by},
            "Nearest": f"universe {row.universe} of {row.universes}",
            "Off there": f"{row.distance_chosen:.1f}",
            "Off in the others": f"{row.distance_confirmed:.1f}",
            "Least, median": f"{row.least_confirmed:.1f}, {row.median_confirmed:.1f}",
            "Cells met": f"{row.cells_met} of 7",
            "Most met at once": f"{row.most_cells_met} of 7",
            "Its values": row.values,
        }
        for row in near.itertuples()
    ]
    numbers = ("printed", "least", "median", "most")
    reached = [
        {
            **{"Data": row.dataset, "Partition": row.partition, "Cell": row.cell},
            **{name.capitalize(): f"{getattr(row, name):.1f}" for name in numbers},
            "Met by": f"{row.met_by or 'none'} of {row.universes}",
        }
        for row in cells.itertuples()
    ]
    return {NEAREST: pd.DataFrame(shown), CELLS: pd.DataFrame(reached)}


def caption(numbers: Tables, **inputs: object) -> dict[str, str]:
    """The budget and the tolerance, and what no universe meets."""
    near, cells = numbers[NEAREST], numbers[CELLS]
    if near.empty:
        return dict.fromkeys(numbers, "No sample of universes has all seven cells of Table 1.")
    missed = cells[cells["met_by"] == 0]
    never = [f"{row.cell} ({row.dataset}, {row.partition})" for row in missed.itertuples()]
    return {
        NEAREST: (
            "The sampled setting nearest to Table 1, chosen by the cells that are named. Off: the "
            "root mean square distance to the printed accuracies in points; least and median: over "
            "all universes, in the cells that did not choose. The budget is the sample: each "
            f"universe is one trial. A cell is met within {TOLERANCE:g} points."
        ),
        CELLS: (
            f"Accuracies of all universes by cell of Table 1, in percent. No universe is within "
            f"{TOLERANCE:g} points of: {', '.join(never) or 'none; each is met by one'}."
        ),
    }
