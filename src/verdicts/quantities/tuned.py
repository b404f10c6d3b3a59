"""Each side of a comparison at its best values of some fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

    from verdicts.rows.run_values import Value
    from verdicts.rows.selection import Column, Selection


@quantity(
    "best_difference",
    unit="that of the value",
    example="{of: {method: b}, minus: {method: a}, choose: [lr], by: held_out}",
    many_universes=True,
)
def best_difference(
    rows: pd.DataFrame,
    of: Selection,
    minus: Selection,
    choose: Sequence[Column] = ("gamma", "p"),
    over: Sequence[Column] = (),
    value: Value = "accuracy",
    by: Column | None = None,
    best_is: str = "max",
) -> pd.Series:
    """Each side at its best values of the fields ``choose``: the difference in ``value``.

    The values are chosen for each side and each value of ``over`` by the mean over seeds of the
    column ``by``, the highest or the lowest (``best_is``: ``max`` or ``min``). Without ``by``, of
    the held-out accuracy. A value at which a run diverged comes last. Then the sides are compared
    as in ``difference``. See ``best_fields.at_best``.
    """
    terms = [{"weight": 1, **of}, {"weight": -1, **minus}]
    return best_contrast(rows, terms, choose, over, value, by, best_is)


@quantity(
    "best_contrast",
    unit="that of the value",
    example="{terms: [{weight: 1, method: b}, {weight: -1, method: a}], choose: [lr]}",
    many_universes=True,
)
def best_contrast(
    rows: pd.DataFrame,
    terms: Sequence[Selection],
    choose: Sequence[Column] = ("gamma", "p"),
    over: Sequence[Column] = (),
    value: Value = "accuracy",
    by: Column | None = None,
    best_is: str = "max",
) -> pd.Series:
    """Each term at its best values of the fields ``choose``: Σ weight · value, by seed.

    Terms are those of ``contrast``, and the best values those of ``best_difference``.
    """
    from verdicts.quantities.differences import weighted
    from verdicts.rows.best_fields import at_best
    from verdicts.rows.seed_values import by_seed, mean_over, weighted_sum
    from verdicts.rows.selection import selected

    parts = []
    for term in terms:
        weight, where = weighted(term)
        chosen = at_best(selected(rows, where), choose, over, value, by, best_is)
        parts.append((weight, by_seed(chosen, {}, value, over)))
    return mean_over(weighted_sum(parts))
