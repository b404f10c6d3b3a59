"""The least squares on which the theorems about SGD are measured, where all constants are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ngo.gossip.least_squares import LeastSquares
    from ngo.measures.theory_table import TheoryOptions


def problem(s: TheoryOptions, seed: int) -> LeastSquares:
    """The problem of ``sgd_workers`` workers that the options describe."""
    from ngo.gossip.least_squares import gaussian_problem

    return gaussian_problem(s.sgd_workers, s.samples, s.dimension, s.noise, s.heterogeneity, seed)


def spaced(first: int, last: int, points: int) -> list[int]:
    """About ``points`` numbers of steps from first to last, equally spaced in their logarithm."""
    import numpy as np

    return sorted({round(T) for T in np.geomspace(first, last, points)})
