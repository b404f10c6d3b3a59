"""The sum of weights S_T of Theorems 2.1 and 3.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ngo.gossip import theory

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# The offset a of both theorems is at least 16 L/μ.
OFFSETS = (16.0, 50.0, 400.0)


def weight_sums(options: TheoryOptions) -> pd.DataFrame:
    """Σ_{t<T} (a + t)² added up, its closed form and T³/3, for ``points`` values of T."""
    records = []
    for a in OFFSETS:
        for T in sorted({round(T) for T in np.geomspace(1, options.steps, options.points)}):
            summed = float(((a + np.arange(T)) ** 2).sum())
            records.append(
                {"T": T, "a": a, "summed": summed, "closed": theory.weight_sum(T, a),
                 "least": T**3 / 3}
            )  # fmt: skip
    return pd.DataFrame(records)
