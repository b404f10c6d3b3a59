"""One number a seed from those of several claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdicts.claims.claim import POOLED
from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd


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
