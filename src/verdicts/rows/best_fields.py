"""The runs at the values of some fields, such as γ, that are best over all seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from verdicts.lazy import pd
from verdicts.registry import UserError, one_of
from verdicts.rows.evaluations import Value, as_numbers, final, highest_is_best, per_run
from verdicts.rows.selection import UNIVERSE, need

#: A column of the judge's: whether a row's seed is one of those of a claim's first look.
FIRST_LOOK = "first_look"

_PLACE = "place_in_the_table"


def at_best(
    rows: pd.DataFrame,
    choose: Sequence[str],
    apart: Sequence[str],
    value: Value = "accuracy",
    by: str | None = None,
    best_is: str = "max",
) -> pd.DataFrame:
    """The evaluations of the runs at the best values of ``choose``, for each value of ``apart``.

    The best mean over seeds: of the column ``by`` at the end of runs, the highest or the lowest
    (``best_is``: ``max`` or ``min``); without ``by``, of held-out accuracy for an accuracy, and of
    log ``value`` for any other. Values at which a run diverged come last. For ties, see ``best``.

    In rows with the column ``FIRST_LOOK``, the seeds of the first look choose for all; in rows with
    the column ``universe``, each universe has its own best values. The index stays.
    """
    one_of("best_is", best_is, ("max", "min"))
    apart = [*apart, *([UNIVERSE] if UNIVERSE in rows else [])]
    fields = [*apart, *choose]
    need(rows, fields, "best: ")
    choosing = rows[rows[FIRST_LOOK]] if FIRST_LOOK in rows else rows
    if by is not None:
        runs = per_run(choosing, by, worst=math.nan)
        runs["score"] = runs["value"] if best_is == "max" else -runs["value"]
    elif highest_is_best(value):
        runs = final(choosing)
        runs["score"] = as_numbers(runs["holdout_accuracy"], "holdout_accuracy")
        whole = ~runs["diverged"].astype(bool) if "diverged" in runs else slice(None)
        scores = runs.loc[whole, "score"]
        if len(scores) and scores.isna().all():
            raise UserError("best: no run has a held-out accuracy to choose by.")
    else:
        runs = per_run(choosing, value)
        with np.errstate(divide="ignore"):
            runs["score"] = -np.log(runs["value"])
    by_fields = runs.groupby(fields, dropna=False)["score"]
    means = by_fields.agg(lambda scores: scores.mean(skipna=False))
    chosen = best(means.reset_index(), choose, apart)[fields]
    kept = rows.assign(**{_PLACE: rows.index}).merge(chosen, on=fields)
    return kept.set_index(_PLACE).rename_axis(None)


def best(scores: pd.DataFrame, choose: Sequence[str], apart: Sequence[str]) -> pd.DataFrame:
    """The row with the highest ``score`` for each value of ``apart``; NaN comes last.

    Ties go to the smaller value of the first field in ``choose``, then of the next; for p, to the
    larger.
    """
    ascending = [False, *(name != "p" for name in choose)]
    order = scores.fillna({"score": -np.inf}).sort_values(["score", *choose], ascending=ascending)
    return order.drop_duplicates(list(apart)) if apart else order.head(1)
