"""The effects of universes: their sides of the margin, shares, test, and what explains them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from verdicts.statistics.estimates import ALPHA, exceeds
from verdicts.statistics.evidence import signed_ranks
from verdicts.statistics.expectation import Expectation

BINS = 5
"""Into so many parts of equal size a numeric setting is cut, for shares of variance."""


def sides(effects: pd.Series, expectation: Expectation) -> np.ndarray:
    """1: beyond the margin as claimed; −1: the other way; 0: within the margin."""
    off = expectation.toward(effects).to_numpy(dtype=float)
    margin = expectation.margin or 0.0
    return np.where(exceeds(off, margin), 1, np.where(exceeds(-off, margin), -1, 0))


def share_interval(number: int, count: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval of a share; NaN without a count."""
    from scipy.special import betaincinv

    if not count:
        return math.nan, math.nan
    low = betaincinv(number, count - number + 1, ALPHA / 2) if number else 0.0
    high = betaincinv(number + 1, count - number, 1 - ALPHA / 2) if number < count else 1.0
    return float(low), float(high)


def p_of_all(effects: np.ndarray) -> float:
    """The two-sided p value of: no universe has an effect, so that each sign is as likely.

    The signs of whole universes are flipped, and their ranks added up (Wilcoxon): scales differ
    between universes, and a few large effects decide nothing. The sum of so many ranks is taken as
    normal, with the variance that it has over all choices of signs.
    """
    from scipy.special import ndtr

    ranks = signed_ranks(effects)
    size = math.sqrt(float(ranks @ ranks))
    return float(2 * ndtr(-abs(ranks.sum()) / size)) if size else math.nan


def variance_shares(effects: np.ndarray, settings: pd.DataFrame) -> dict[str, float]:
    """The share of the variance of the effects' ranks that each setting explains alone.

    The correlation ratio of ``BINS`` parts of equal size (or of categories), without its bias
    (ε², Kelley 1935): what chance explains is taken off, and less than nothing is 0.
    """
    from scipy.stats import rankdata

    ranks = rankdata(effects)
    spread = np.var(ranks, ddof=1)
    found = {}
    for name, values in settings.items():
        part = _parts(values)
        sizes = np.bincount(part)
        freedom = len(ranks) - len(sizes)
        inner = ((ranks - (np.bincount(part, ranks) / sizes)[part]) ** 2).sum()
        explained = 1 - inner / freedom / spread if spread and freedom else 0.0
        found[str(name)] = max(0.0, float(explained))
    return found


def _parts(values: pd.Series) -> np.ndarray:
    """The part of each value: of equal size for more than ``BINS`` numbers, else for each value."""
    if pd.api.types.is_numeric_dtype(values) and values.nunique() > BINS:
        order = np.argsort(np.argsort(values.to_numpy(), kind="stable"))
        return order * BINS // len(order)
    return pd.factorize(values)[0]
