"""Levels, differences and log ratios of runs, paired by seed; each side at its best values, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verdicts.claims.claim import POOLED
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
    return _weighted(rows, terms, value, over, log)


def _weighted(
    rows: pd.DataFrame,
    terms: Sequence[Selection],
    value: Value,
    over: Sequence[Column],
    log: bool = False,
    best: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> pd.Series:
    """Σ weight · value; ``best`` chooses among the runs of a term. A UserError without a weight."""
    from verdicts.rows.seed_values import by_seed, logs, mean_over, weighted_sum
    from verdicts.rows.selection import selected

    parts = []
    for term in terms:
        fields: dict[str, Any] = dict(term)
        try:
            weight = float(fields.pop("weight"))
        except (KeyError, TypeError, ValueError):
            raise UserError(f"terms: {dict(term)!r} needs a number as its weight.") from None
        runs = selected(rows, fields)
        table = by_seed(best(runs) if best else runs, {}, value, over)
        parts.append((weight, logs(table) if log else table))
    return mean_over(weighted_sum(parts))


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
    from verdicts.rows.best_fields import at_best

    def best(runs: pd.DataFrame) -> pd.DataFrame:
        return at_best(runs, choose, over, value, by, best_is)

    return _weighted(rows, terms, value, over, best=best)


@quantity(POOLED, unit="that of the claims", example="{claims: [b-over-a-*, c-over-a]}")
def pooled(rows: pd.DataFrame, claims: Sequence[str]) -> pd.Series:
    """The mean over ``claims`` of how far their numbers are on the side that they claim, by seed.

    Claims are named by id, or by patterns (``b-over-*``). Each is about a direction, and all have
    one unit. A number counts from the claim's value, with the sign turned for ``below``, so that
    the mean is above 0 if the claims are true on the whole. A seed without a number for one of them
    is left out; if one is not run, neither is the pooled claim. Rows are seeds, columns claims.
    """
    from verdicts.rows.seed_values import mean_over

    return mean_over(rows)
