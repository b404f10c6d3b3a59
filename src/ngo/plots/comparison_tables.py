"""Tables of methods with the paper's numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ngo.analysis.criteria import CRITERIA
from ngo.printing.tables import number, plus_minus
from verdicts.row import ABSENT


def print_comparison(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``comparisons.comparison_table``."""
    ours, theirs = digits(table)
    return pd.DataFrame(
        {
            **({"Measure": table["measure"]} if table["measure"].nunique() > 1 else {}),
            **cell(table),
            "Consensus": with_interval(table, "consensus", ours),
            "Workers": with_interval(table, "workers", ours),
            "Paper": with_decimals(table["paper"], theirs),
            "Consensus − paper": with_decimals(table["consensus_minus_paper"], ours, plus=True),
            "NGO − gossip": with_interval(table, "ngo_minus_gossip", ours, plus=True),
            "Classes": [
                f"{low:g}" if low == high else f"{low:g} to {high:g}"
                for low, high in zip(table["classes_min"], table["classes_max"], strict=True)
            ],
            **diverged(table),
        }
    )


def cell(table: pd.DataFrame) -> dict[str, pd.Series]:
    """The columns that name the data set, partition, topology and method."""
    return {
        "Data": table["dataset"],
        "Partition": table["partition"],
        "Topology": table["topology"].fillna(ABSENT),
        "Method": table["method"],
    }


def digits(table: pd.DataFrame) -> tuple[Sequence[int], Sequence[int]]:
    """Decimals of our numbers and of the paper's, by row."""
    ours, theirs = zip(*(CRITERIA[name].digits for name in table["measure"]), strict=True)
    return ours, theirs


def diverged(table: pd.DataFrame) -> dict[str, pd.Series]:
    """The column with the number of diverged runs, ``1 of 5``, in rows with one; none without."""
    lost = table["diverged"] > 0
    told = table["diverged"].astype(str) + " of " + table["seeds"].astype(str)
    return {"Diverged": told.where(lost, "")} if lost.any() else {}


def with_decimals(values: pd.Series, decimals: Sequence[int], *, plus: bool = False) -> list[str]:
    """Each value with its decimals."""
    return [number(value, d, plus=plus) for value, d in zip(values, decimals, strict=True)]


def with_interval(
    table: pd.DataFrame, column: str, decimals: int | Sequence[int], *, plus: bool = False
) -> list[str]:
    """Each mean in ``column`` with its half-width, in ``column``_ci95."""
    decimals = [decimals] * len(table) if isinstance(decimals, int) else decimals
    rows = zip(table[column], table[f"{column}_ci95"], decimals, strict=True)
    return [plus_minus(mean, half_width, d, plus=plus) for mean, half_width, d in rows]
