"""Each side of a comparison at its own best p and γ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdicts.quantity import quantity

if TYPE_CHECKING:
    import pandas as pd

    from verdicts.claims.claim import Column, Selection


@quantity("best_difference")
def best_difference(
    rows: pd.DataFrame,
    of: Selection,
    minus: Selection,
    choose: Sequence[Column] = ("gamma", "p"),
    over: Sequence[Column] = (),
) -> pd.Series:
    """Each side at the fields ``choose`` with its best held-out accuracy: test accuracy, by seed.

    The values are chosen for each side and each value of ``over`` by the mean held-out accuracy of
    all seeds, and a value at which a run diverged comes last. Then test accuracies are compared as
    in ``difference``. See ``best_fields.at_best``.
    """
    from verdicts.rows.best_fields import at_best
    from verdicts.rows.seed_values import by_seed, mean_over, weighted_sum
    from verdicts.rows.selection import selected

    parts = [
        (weight, by_seed(at_best(selected(rows, where), choose, over), {}, "accuracy", over))
        for weight, where in ((1, of), (-1, minus))
    ]
    return mean_over(weighted_sum(parts))
