"""The delay theorem (Section 3.3, Supplement A): consensus is reached for τ up to π/(2λ_n).

The main text includes the limit (≤) and the supplement does not (<).
"""

from __future__ import annotations

import math

from ngo.common.types import Table, Tensor
from ngo.theorems.theorem import (
    FACTOR,
    VANISHED,
    Options,
    Rows,
    checked_form,
    graphs,
    part,
    residual,
    rows_of,
    states,
)
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

# π/(2λ_n) in continuous time, and in rounds.
LIMITS = ("limit", "limit_of_rounds")

# Continuous time: the length of a round is ``delay_step`` divided by each of these.
DIVISORS = (1, 2, 4)
# A delay counts in whole rounds, and a round of length h lowers the limit by some h/2.
ROUNDS_OFF = 2.0

# At the limit: delays as shares of it, and the length of a run in delays.
SHARES = (0.9, 1.0)
LENGTH = 200


@part("delays", "topology", "n", "p", "gamma", "tolerated", *LIMITS, "residual", "floor")
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
    from ngo.gossip import bounds, consensus

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


@part("limits", "topology", "n", "step", "tolerated", "limit")
def limits(s: Options) -> Rows:
    """The largest delay of linear consensus in rounds of length ``step``, and π/(2λ_n).

    Delays are in units of time; a run lasts equally long for each length of a round.
    """
    from ngo.gossip import bounds, consensus

    for topology, n, W in graphs(s):
        X0 = _eigen(W)[1] * math.sqrt(n)
        for divisor in DIVISORS:
            step, rounds = s.delay_step / divisor, s.delay_rounds * divisor
            tolerated = consensus.delayed_tolerance(X0, W, 1.0, step, rounds)
            yield topology, n, step, tolerated, bounds.delay_limit(W)


@part("unit_steps", "topology", "n", "delay", "limit", "residual")
def unit_steps(s: Options) -> Rows:
    """What is left of V after ``delay_rounds`` rounds of the delay equation with p = 1.

    The equation has no γ: its steps have length 1. One row for each graph and delay τ of 0 and 1
    rounds; ``limit`` is π/(2λ_n), up to which the theorem allows τ.
    """
    from ngo.gossip import bounds

    for topology, n, W in graphs(s):
        (X0,) = states(n, 1, s.seed, "theory unit steps", n)
        for delay in (0, 1):
            left = residual(X0, W, 1.0, 1.0, s.delay_rounds, delay)
            yield topology, n, delay, bounds.delay_limit(W), left


@part("marginal", "topology", "n", "delay", "share", "residual")
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
    import torch

    from ngo.gossip.spectrum import laplacian

    values, vectors = torch.linalg.eigh(laplacian(W))
    return float(values[-1]), vectors[:, -1:]


@quantity("theory_delay_limit", cases=True)
def delay_limit(table: Table) -> Table:
    """Linear consensus tolerates delays up to π/(2λ_n): the shorter the rounds, the closer."""
    rows = rows_of(table, "limits")
    met = (rows["tolerated"] - rows["limit"]).abs() <= ROUNDS_OFF * rows["step"]
    return cases(rows, ("topology", "n", "step"), rows["tolerated"], rows["limit"], met)


@quantity("theory_delay_unit_step", cases=True)
def delay_unit_step(table: Table) -> Table:
    """The delay equation as printed, with p = 1: consensus if and only if τ ≤ π/(2λ_n).

    ``measured`` is what is left of V. It must vanish if the theorem allows the delay, and must not
    if it forbids it.
    """
    rows = rows_of(table, "unit_steps")
    met = (rows["residual"] <= VANISHED) == (rows["delay"] <= rows["limit"])
    return cases(rows, ("topology", "n", "delay"), rows["residual"], VANISHED, met)


@quantity("theory_delay_residual", example="{linear: true}", cases=True)
def delay_residual(table: Table, linear: bool = False) -> Table:
    """V vanishes with a delay of half the limit: sublinear coupling, or ``linear``."""
    rows = rows_of(table, "delays")
    rows = rows[rows["p"] == 1] if linear else rows[rows["p"] < 1]
    met = rows["residual"] <= VANISHED
    return cases(rows, ("topology", "n", "p"), rows["residual"], VANISHED, met)


@quantity("theory_delay_floor", cases=True)
def delay_floor(table: Table) -> Table:
    """Sublinear coupling, half the limit: V ends within a factor 2 of its floor without delay.

    The floor is that of the same rounds, or the share of V(0) that counts as vanished.
    """
    rows = rows_of(table, "delays")
    rows = rows[rows["p"] < 1]
    limit = (FACTOR * rows["floor"]).clip(lower=VANISHED)
    met = rows["residual"] <= limit
    return cases(rows, ("topology", "n", "p"), rows["residual"], limit, met)


@quantity("theory_delay_marginal", example="{form: closed}", cases=True)
def delay_marginal(table: Table, form: str) -> Table:
    """Consensus for τ up to the limit: ``closed`` (≤, main text) or ``open`` (<, supplement).

    ``closed`` asks that V vanishes at 0.9 of the limit and at the limit; ``open``, that it vanishes
    at 0.9 of the limit, and does not at the limit.
    """
    closed = checked_form(form, ("closed", "open")) == "closed"
    rows = rows_of(table, "marginal")
    reached = rows["residual"] <= VANISHED
    met = reached == ((rows["share"] < 1) | closed)
    names = ("topology", "n", "delay", "share")
    return cases(rows, names, rows["residual"], VANISHED, met)
