"""Levels, differences and log ratios of runs, paired by seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verdicts.quantity_registry import quantity
from verdicts.registry import UserError

if TYPE_CHECKING:
    import pandas as pd

    from verdicts.rows.run_values import Value
    from verdicts.rows.selection import Column, Selection


@quantity(
    "level",
    unit="that of the value",
    example="{value: accuracy, over: [topology]}",
    many_universes=True,
)
def level(
    rows: pd.DataFrame, value: Value = "accuracy", over: Sequence[Column] = (), log: bool = False
) -> pd.Series:
    """The value of each seed's run; the mean over the fields ``over``."""
    from verdicts.rows.seed_values import by_seed, logs, mean_over

    table = by_seed(rows, {}, value, over)
    return mean_over(logs(table) if log else table)


@quantity(
    "difference",
    unit="that of the value",
    example="{of: {method: b}, minus: {method: a}, value: accuracy}",
    many_universes=True,
)
def difference(
    rows: pd.DataFrame,
    of: Selection,
    minus: Selection,
    value: Value = "accuracy",
    over: Sequence[Column] = (),
) -> pd.Series:
    """The value of the runs ``of`` − that of the runs ``minus``, by seed.

    Within a seed it is averaged over the fields ``over``, such as the topology. A seed in which one
    side diverged is ±inf, against that side; 0 if both did.
    """
    return contrast(rows, [{"weight": 1, **of}, {"weight": -1, **minus}], value, over)


@quantity(
    "log_ratio",
    unit="log ratio",
    example="{of: {method: b}, to: {method: a}, value: loss}",
    many_universes=True,
)
def log_ratio(
    rows: pd.DataFrame,
    of: Selection,
    to: Selection,
    value: Value = "V",
    over: Sequence[Column] = (),
) -> pd.Series:
    """The natural logarithm of value(``of``) / value(``to``), by seed; see ``difference``."""
    terms = [{"weight": 1, **of}, {"weight": -1, **to}]
    return contrast(rows, terms, value, over, log=True)


@quantity(
    "contrast",
    unit="that of the value",
    example="{terms: [{weight: 1, method: b}, {weight: -1, method: a}], value: accuracy}",
    many_universes=True,
)
def contrast(
    rows: pd.DataFrame,
    terms: Sequence[Selection],
    value: Value = "accuracy",
    over: Sequence[Column] = (),
    log: bool = False,
) -> pd.Series:
    """Σ weight · value of the runs of each term, by seed.

    A term has a ``weight`` and the fields of its runs. Four terms make an interaction: the effect
    of H on iid data minus that on non-iid data.
    """
    from verdicts.rows.seed_values import by_seed, logs, mean_over, weighted_sum

    parts = []
    for term in terms:
        weight, fields = weighted(term)
        table = by_seed(rows, fields, value, over)
        parts.append((weight, logs(table) if log else table))
    return mean_over(weighted_sum(parts))


def weighted(term: Selection) -> tuple[float, dict[str, Any]]:
    """The weight of a term, and the fields of its runs; a UserError without a number."""
    fields: dict[str, Any] = dict(term)
    try:
        return float(fields.pop("weight")), fields
    except (KeyError, TypeError, ValueError):
        raise UserError(f"terms: {dict(term)!r} needs a number as its weight.") from None


@quantity(
    "remaining_gap",
    unit="share of the gap",
    example="{of: {method: b}, than: {method: a}, to: {method: best}}",
)
def remaining_gap(
    rows: pd.DataFrame,
    of: Selection,
    than: Selection,
    to: Selection,
    value: Value = "accuracy",
    over: Sequence[Column] = (),
) -> pd.Series:
    """The share of a gap that remains: (``to`` − ``of``) / (``to`` − ``than``), by seed.

    Gaps are averaged over the fields ``over`` before they are divided. 0: the gap is closed; 1: it
    is as wide as before. A seed without a gap to close is NaN. If ``of`` diverged, inf; if ``than``
    did, 0; if both did, 1.
    """
    import numpy as np

    ours = difference(rows, to, of, value, over)
    theirs = difference(rows, to, than, value, over).reindex(ours.index)
    ours, theirs = ours.copy(), theirs.where(theirs > 0)
    with np.errstate(invalid="ignore"):
        share = ours / theirs
    share[np.isinf(ours) & np.isinf(theirs)] = 1.0
    return share
