"""Is a replication consistent with the original? Numbers with standard errors, from any code."""

from __future__ import annotations

import math


def prediction_interval(
    original: float, original_se: float, replication_se: float, level: float = 0.95
) -> tuple[float, float]:
    """Where the estimate of a replication lies with probability ``level``, if both are alike.

    ``original`` is an estimate with the standard error ``original_se``; ``replication_se`` is that
    of the replication. Errors are normal, and nothing else differs (Patil, Peng and Leek 2016).
    Raises a ValueError for an error that is not above 0, and for a level outside of (0, 1).
    """
    from scipy.special import ndtri

    if not (original_se > 0 and replication_se > 0):
        raise ValueError("standard errors must be above 0")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level:g}")
    half = float(ndtri((1 + level) / 2)) * math.hypot(original_se, replication_se)
    return original - half, original + half
