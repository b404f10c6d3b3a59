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
    side diverged is ±inf, against that side; one in which both did has no number.
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
    ratio=True,
)
def remaining_gap(
    rows: pd.DataFrame,
    of: Selection,
    than: Selection,
    to: Selection,
    value: Value = "accuracy",
    over: Sequence[Column] = (),
) -> pd.DataFrame:
    """The share of a gap that remains: the mean of ``to`` − ``of`` over that of ``to`` − ``than``.

    Both are means over all seeds and the fields ``over``. 0: the gap is closed; 1: it is as wide as
    before. Not run if the mean gap is not above 0: there is none to close. A seed in which ``of``
    or ``than`` diverged counts against it; one in which both did, or ``to`` did, has no number.
    Columns: part, whole, by seed.
    """
    import numpy as np
    import pandas as pd

    part = difference(rows, to, of, value, over)
    whole = difference(rows, to, than, value, over).reindex(part.index)
    both = pd.DataFrame({"part": part, "whole": whole})
    # If both are infinite, two of the three diverged, or the end of the gap did.
    both[np.isinf(both).all(axis=1)] = np.nan
    gap = both["whole"][np.isfinite(both["whole"])]
    if len(gap) and not gap.mean() > 0:
        raise UserError(
            f"remaining_gap: there is none to close; {dict(to)} is not above {dict(than)}."
        )
    return both
