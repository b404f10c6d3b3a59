"""The least squares on which the theorems about SGD are measured, where all constants are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ngo.theorems.theorem import Options

if TYPE_CHECKING:
    from ngo.gossip.least_squares import Descent, LeastSquares


def problem(s: Options, seed: int) -> LeastSquares:
    """The problem of ``sgd_workers`` workers that the options describe."""
    from ngo.gossip.least_squares import gaussian_problem

    return gaussian_problem(s.sgd_workers, s.samples, s.dimension, s.noise, s.heterogeneity, seed)


def sgd(
    s: Options, problem: LeastSquares, steps: int, record: Sequence[int], **given: Any
) -> Descent:
    """``least_squares.sgd`` with the batch, γ, repeats and seed of the options, or those given."""
    from ngo.gossip import least_squares

    options = {"batch": s.batch_size, "gamma": s.sgd_gamma, "repeats": s.repeats, "seed": s.seed}
    return least_squares.sgd(problem, steps, record=record, **options | given)


def spaced(first: int, last: int, points: int) -> list[int]:
    """About ``points`` numbers of steps from first to last, equally spaced in their logarithm."""
    import numpy as np

    return sorted({round(T) for T in np.geomspace(first, last, points)})
