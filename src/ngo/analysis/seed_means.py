"""Means over seeds: which runs are seeds of one, and the mean of a value over them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ngo.analysis.apart import pooled
from verdicts.statistics.estimates import estimate


def check_apart(runs: pd.DataFrame, by: Sequence[str]) -> None:
    """Raise a UserError if two rows of ``runs`` have the same seed and agree on all columns ``by``.

    Each row is one run. The mean over the two would mix two cases.
    """
    twice = runs[runs.duplicated([*by, "seed"], keep=False)]
    for _, same in twice.groupby([*by, "seed"], dropna=False, sort=False):
        raise pooled(by, same["run"][:2])


def over_seeds(rows: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """The mean of ``value`` over seeds in each group ``by``, and its 95 % half-width.

    Columns: ``by``, ``value`` and ``value`` with ``_ci95``.
    """
    records = []
    for keys, group in rows.groupby(by, dropna=False, sort=False):
        found = estimate(group[value].to_numpy())
        records.append((*keys, found.mean, found.half_width))
    return pd.DataFrame(records, columns=[*by, value, f"{value}_ci95"])
