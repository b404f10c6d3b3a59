"""Is a replication consistent with the original? Numbers with standard errors, from any code.

The definitions take an estimate with its standard error from both sides, and treat errors as
normal; each of these may be an array. They disagree: look at several. Where standard errors are
those of a few runs each, ``statistics.samples.student_p`` is in place of the normal distribution.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from verdicts.lazy import special

#: A number, or an array of them.
Number = Any

#: What small telescopes ask: the effect that the original would have seen with this probability.
SMALL = 1 / 3

#: φ of the golden level (Held, Micheloud and Pawel 2022).
GOLDEN = (np.sqrt(5) + 1) / 2


def prediction_interval(
    original: Number, original_se: Number, replication_se: Number, level: float = 0.95
) -> tuple[Number, Number]:
    """Where the estimate of a replication lies with probability ``level``, if both are alike.

    ``original`` is an estimate with the standard error ``original_se``; ``replication_se`` is that
    of the replication. Errors are normal, and nothing else differs (Patil, Peng and Leek 2016).
    Raises a ValueError for an error that is not above 0, and for a level outside of (0, 1).
    """
    half = special.ndtri((1 + _level(level)) / 2) * _both(original_se, replication_se)
    return original - half, original + half


def standardized_difference(
    original: Number, original_se: Number, replication: Number, replication_se: Number
) -> Number:
    """(replication − original) over the standard error of this difference.

    Raises a ValueError for an error that is not above 0.
    """
    return (replication - original) / _both(original_se, replication_se)


def q_test(
    original: Number, original_se: Number, replication: Number, replication_se: Number
) -> Number:
    """The p value of Cochran's Q: that both estimate one effect (Cochran 1954; Hedges 2019).

    It is above 5 % where the replication lies in its prediction interval of 95 %. Raises a
    ValueError for an error that is not above 0.
    """
    z = standardized_difference(original, original_se, replication, replication_se)
    return 2 * special.ndtr(-abs(z))


def same_sign_and_significant(
    original: Number, replication: Number, replication_se: Number, level: float = 0.05
) -> Number:
    """Whether the replication is on the original's side of 0, with a two-sided p ≤ ``level``.

    The vote count of the Open Science Collaboration (2015). Raises a ValueError for an error that
    is not above 0, and for a level outside of (0, 1).
    """
    p = 2 * special.ndtr(-abs(replication) / _both(replication_se))
    return (original * replication > 0) & (p <= _level(level))


def small_telescopes(
    original: Number, original_se: Number, replication: Number, replication_se: Number,
    power: float = SMALL,
) -> Number:  # fmt: skip
    """The p value against an effect that the original could have seen (Simonsohn 2015).

    A small effect is one that a two-sided test of 5 % with the original's standard error detects
    with probability ``power``. A p below 5 % says that the effect, on the original's side, is
    smaller still: the original's telescope was too small for it. Raises a ValueError for an error
    that is not above 0, and for a power outside of (0, 1).
    """
    small = (special.ndtri(0.975) + special.ndtri(_level(power, "power"))) * _both(original_se)
    off = np.copysign(replication, original * replication) - small
    return special.ndtr(off / _both(replication_se))


def sceptical_p(
    original: Number, original_se: Number, replication: Number, replication_se: Number,
    type: str = "nominal",
) -> Number:  # fmt: skip
    """The sceptical p value: the level at which the replication succeeds (Held 2020).

    It does if it is in conflict with a sceptic, whose prior is just tight enough to make the
    original unconvincing. ``nominal`` is two-sided and blind to signs; ``golden`` is one-sided,
    on the original's side, recalibrated so that an original at the level and an equally large
    replicated effect succeed at any size (Held, Micheloud and Pawel 2022). NaN if both effects
    are 0. Raises a ValueError for an error that is not above 0, and for another type.
    """
    if type not in ("nominal", "golden"):
        raise ValueError(f"type must be 'nominal' or 'golden', not {type!r}")
    first = (original / _both(original_se)) ** 2
    second = (replication / _both(replication_se)) ** 2
    ratio = (original_se / replication_se) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, harmonic = (first + second) / 2, 2 * np.divide(first * second, first + second)
        # the smaller root of (first / z² − 1) (second / z² − 1) = ratio, without cancellation
        root = np.sqrt(mean * (mean + (ratio - 1) * harmonic))
        z = np.sqrt(np.divide(mean * harmonic, root + mean))
    if type == "nominal":
        return 2 * special.ndtr(-z)
    return special.ndtr(-np.copysign(z * np.sqrt(GOLDEN), original * replication))


def equivalence(
    original: Number, original_se: Number, replication: Number, replication_se: Number,
    margin: float,
) -> Number:  # fmt: skip
    """The p value of two one-sided tests that both differ by the ``margin`` or more.

    Below 5 %, the difference is within the margin (Schuirmann 1987). Raises a ValueError for an
    error or a margin that is not above 0.
    """
    if not margin > 0:
        raise ValueError("the margin must be above 0")
    off = abs(replication - original)
    return special.ndtr((off - margin) / _both(original_se, replication_se))


def _both(*errors: Number) -> Number:
    """The standard error of a sum; a ValueError for one that is not above 0."""
    if not all(np.all(error > 0) for error in errors):
        raise ValueError("standard errors must be above 0")
    return reduce(np.hypot, errors)


def _level(level: float, name: str = "level") -> float:
    if not 0 < level < 1:
        raise ValueError(f"{name} must be between 0 and 1, not {level:g}")
    return level
