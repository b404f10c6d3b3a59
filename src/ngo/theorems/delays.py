"""The delay theorem (Section 3.3, Supplement A): consensus is reached for τ up to π/(2λ_n).

The main text includes the limit (≤) and the supplement does not (<).
"""

from __future__ import annotations

import math

import torch

from ngo.common.lazy import Tensor
from ngo.gossip import bounds, consensus
from ngo.gossip.spectrum import laplacian
from ngo.theorems.setting import (
    Options,
    Rows,
    graphs,
    residual,
    states,
)

# Continuous time: the length of a round is ``delay_step`` divided by each of these.
DIVISORS = (1, 2, 4)

# At the limit: delays as shares of it, and the length of a run in delays.
SHARES = (0.9, 1.0)
LENGTH = 200


def delays(s: Options) -> Rows:
    """The largest delay under which consensus in rounds is reached, and its limits, for p = 1 too.

    - ``tolerated``, for p = 1: the largest delay under which V decays, since it then vanishes. A
      sublinear coupling may keep oscillating at a smaller V; for p < 1 it is the largest delay
      under which V falls below ``delay_share`` of its initial value.
    - ``limit``: π/(2λ_n); ``limit_of_rounds``: the same for rounds. Delays are in units of time.
    - ``residual``: the remaining share of V(0) at half the limit; ``floor``: that without a delay.

    The initial state is the eigenvector of λ_n, the first to become unstable, with unit spread. For
    p ≠ 1 the results depend on the spread.
    """
    gamma, rounds = s.delay_step, s.delay_rounds
    for topology, n, W in graphs(s):
        X0 = _eigen(W)[1] * math.sqrt(n)
        limit, limit_of_rounds = bounds.delay_limit(W), bounds.delay_limit(W, gamma)
        for p in (*s.p, 1.0):
            share = 1.0 if p == 1 else s.delay_share
            tolerated = consensus.delayed_tolerance(X0, W, p, gamma, rounds, share)
            left = residual(X0, W, p, gamma, rounds, round(limit / 2 / gamma))
            floor = residual(X0, W, p, gamma, rounds)
            yield topology, n, p, gamma, tolerated, limit, limit_of_rounds, left, floor


def limits(s: Options) -> Rows:
    """The largest delay of linear consensus in rounds of length ``step``, and π/(2λ_n).

    Delays are in units of time; a run lasts equally long for each length of a round.
    """
    for topology, n, W in graphs(s):
        X0 = _eigen(W)[1] * math.sqrt(n)
        for divisor in DIVISORS:
            step, rounds = s.delay_step / divisor, s.delay_rounds * divisor
            tolerated = consensus.delayed_tolerance(X0, W, 1.0, step, rounds)
            yield topology, n, step, tolerated, bounds.delay_limit(W)


def unit_steps(s: Options) -> Rows:
    """What is left of V after ``delay_rounds`` rounds of the delay equation with p = 1.

    The equation has no γ: its steps have length 1. One row for each graph and delay τ of 0 and 1
    rounds; ``limit`` is π/(2λ_n), up to which the theorem allows τ.
    """
    for topology, n, W in graphs(s):
        (X0,) = states(n, 1, s.seed, "theory unit steps", n)
        for delay in (0, 1):
            left = residual(X0, W, 1.0, 1.0, s.delay_rounds, delay)
            yield topology, n, delay, bounds.delay_limit(W), left


def marginal(s: Options) -> Rows:
    """What is left of V with a delay at the limit, and at 0.9 of it, for each ``marginal_delay``.

    A delay of k rounds is the limit of linear consensus in rounds of length γ =
    2 sin(π/(2(2k + 1)))/λ_n. For large k, kγ tends to π/(2λ_n), the limit in continuous time. The
    start is the eigenvector of λ_n.
    """
    for topology, n, W in graphs(s):
        largest, X0 = _eigen(W)
        for delay in s.marginal_delay:
            at_limit = 2 * math.sin(math.pi / (2 * (2 * delay + 1))) / largest
            for share in SHARES:
                left = residual(X0, W, 1.0, share * at_limit, LENGTH * delay, delay)
                yield topology, n, delay, share, left


def _eigen(W: Tensor) -> tuple[float, Tensor]:
    """λ_n of the Laplacian of W, and its eigenvector ``[n, 1]``."""
    values, vectors = torch.linalg.eigh(laplacian(W))
    return float(values[-1]), vectors[:, -1:]
