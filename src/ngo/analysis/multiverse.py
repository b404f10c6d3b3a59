"""What figures show of universes: curves of effects, and the setting nearest to Table 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ngo.analysis.comparisons import published_for
from ngo.analysis.universes import CHOSEN, DERIVED, columns
from verdicts.statistics import ABSENT, exceeds, meets, spoken
from verdicts.verdict_rows import Row

#: A printed number is met by an accuracy that is at most so many points off.
TOLERANCE = 2.0

#: The accuracy in percent of a diverged run: ten classes.
CHANCE = 10.0

CELL = ["topology", "method"]

ONE_HALF = [(ABSENT, "centralized"), ("ring", "gossip"), ("random", "ngo"), ("complete", "gossip")]
OTHER_HALF = [("ring", "ngo"), ("random", "gossip"), ("complete", "ngo")]
#: The cells of Table 1: those that choose, and those that confirm; and the other way round.
CELLS = [*ONE_HALF, *OTHER_HALF]


def accuracies(runs: pd.DataFrame) -> pd.DataFrame:
    """The accuracy in percent at the end: a row for each universe, a column for each cell.

    The mean over seeds; NaN for a cell that was not trained. A diverged run has chance level, 10 %.
    """
    last = runs.sort_values("step").groupby(["universe", "run"]).tail(1)
    of = CHOSEN if CHOSEN in last else "consensus_accuracy"
    value = (100 * last[of]).mask(last["diverged"].astype(bool), CHANCE)
    last = last.assign(value=value, topology=last["topology"].fillna(ABSENT))
    return last.pivot_table("value", "universe", CELL).reindex(columns=CELLS)


def printed_accuracies(runs: pd.DataFrame, reference: str | Path) -> pd.Series:
    """The printed accuracy of each cell."""
    one = runs.drop_duplicates(CELL)
    value = published_for(one, reference, "test_accuracy_percent")
    return one.assign(topology=one["topology"].fillna(ABSENT), value=value).set_index(CELL)["value"]


def distance(reached: pd.DataFrame, printed: pd.Series, cells: list) -> pd.Series:
    """The root mean square of reached − printed over some cells, in points, by universe."""
    return ((reached[cells] - printed[cells]) ** 2).mean(axis=1) ** 0.5


def nearest_universes(reached: pd.DataFrame, printed: pd.Series, runs: pd.DataFrame) -> list[dict]:
    """The universe nearest to one half of the cells, with its distance in the other half.

    There are two rows: either half chooses once.
    """
    rows = []
    count = met(reached, printed).sum(axis=1)
    for chosen_by, confirmed_by in ((ONE_HALF, OTHER_HALF), (OTHER_HALF, ONE_HALF)):
        choosing = distance(reached, printed, chosen_by)
        confirming = distance(reached, printed, confirmed_by)
        best = choosing.idxmin()
        values = runs[runs["universe"] == best].filter(like="universe_").iloc[0]
        values = values.drop(columns(dict.fromkeys(DERIVED)), errors="ignore")
        said = [f"{spoken(key.removeprefix('universe_'))} {value}" for key, value in values.items()]
        rows.append(
            {
                "chosen_by": ", ".join(map(_name, chosen_by)),
                **{"universes": len(reached), "universe": best},
                "distance_chosen": choosing[best],
                "distance_confirmed": confirming[best],
                "median_confirmed": confirming.median(),
                "least_confirmed": confirming.min(),
                "cells_met": count[best],
                "most_cells_met": count.max(),
                "values": ", ".join(said),
            }
        )
    return rows


def met(reached: Any, printed: Any) -> Any:
    """Which accuracies are the printed ones, within ``TOLERANCE``."""
    return ~exceeds((reached - printed).abs(), TOLERANCE)


def cells_reached(reached: pd.DataFrame, printed: pd.Series) -> list[dict]:
    """How near the universes come to each cell, and to gossip's random graph − ring."""
    every = {_name(cell): (reached[cell], printed[cell]) for cell in CELLS}
    random, ring = ("random", "gossip"), ("ring", "gossip")
    every["random − ring gossip"] = reached[random] - reached[ring], printed[random] - printed[ring]
    return [
        {
            **{"cell": name, "printed": wanted},
            **{"least": values.min(), "median": values.median(), "most": values.max()},
            **{"universes": len(values), "met_by": int(met(values, wanted).sum())},
        }
        for name, (values, wanted) in every.items()
    ]


def _name(cell: tuple[str, str]) -> str:
    return " ".join(part for part in cell if part != ABSENT)


# The effects of a claim over universes.


def curve_rows(row: Row, curve: pd.DataFrame) -> pd.DataFrame:
    """The effects of a claim's universes, in order, with the values of two settings.

    ``curve`` is ``specification_curve`` of the claim. New columns: ``first`` and ``second``, the
    settings; ``…_value``; ``rule_says``, whether the claim's rule says yes.
    """
    facts = {"claim": row.claim, "says": row.says, "unit": row.unit, "margin": row.margin}
    rows = curve[["universe", "effect", "side"]].assign(**facts)
    settings = curve.filter(like="universe_").rename(columns=lambda n: n.removeprefix("universe_"))
    rows["rule_says"] = meets(row.multiverse.rule, settings)
    for place, name in zip(("first", "second"), _deciding(row), strict=False):
        rows[place], rows[f"{place}_value"] = name, curve[f"universe_{name}"].astype(str)
    return rows


def _deciding(row: Row) -> list[str]:
    """The settings of a claim's rule, then those that explain most of the variance: two of them."""
    shares = row.multiverse.variance
    by_share = sorted(shares, key=lambda name: -shares[name])
    return list(dict.fromkeys([*row.multiverse.rule_settings, *by_share]))[:2]


def verdict_facts(row: Row) -> dict[str, object]:
    """The verdict of a claim over universes, and what decides it, for a table."""
    over = row.multiverse
    shares = sorted(over.variance.items(), key=lambda item: -item[1])
    return {
        **{"claim": row.claim, "says": row.says, "verdict": row.verdict},
        **{"universes": over.count, "sampled": over.of, "both_diverged": over.both_diverged},
        **{"share": over.share, "low": over.low, "high": over.high, "p": over.p},
        **{"median": row.estimate, "unit": row.unit},
        **{"rule": over.rule, "rule_of": over.rule_of, "accuracy": over.rule_accuracy},
        "variance": ", ".join(f"{spoken(name)} {share:.0%}" for name, share in shares[:3] if share),
    }
