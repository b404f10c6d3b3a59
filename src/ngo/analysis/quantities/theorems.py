"""The paper's theorems, lemmas and statements, judged on the table of ``ngo theory``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ngo.common.lazy import Numbers, Table, pd
from ngo.theorems.table import TIMES, rows_of
from verdicts.quantities import cases, quantity
from verdicts.registry import UserError, one_of

#: V counts as vanished at or below this share of V(0).
VANISHED = 1e-6

#: Two values of V are alike if they are within this factor.
FACTOR = 2.0

#: The error of a ratio, of a rate, and of the two sides of an inequality.
EQUAL = 1e-9


def by_seed(values: Numbers) -> Numbers:
    """``values``, indexed by seed, with seeds as whole numbers."""
    return values.set_axis(values.index.astype(int)).rename_axis("seed")


#: The rows of a statement's cases, what was measured, its limit, and whether each case is met: by
#: default, if it measured the limit or less.
Judged = tuple[Any, ...]


def statement(name: str, kind: str, case: str, example: str = "") -> Callable[..., Any]:
    """Register ``f(rows, **arguments)`` as a quantity of cases, from the rows of a ``kind``.

    ``case`` names the columns that tell the cases apart. The function returns ``Judged``.
    """

    def register(function: Callable[..., Judged]) -> Callable[..., Judged]:
        @quantity(name, cases=True, example=example)
        @wraps(function)
        def judged(table: Table, **arguments: Any) -> Table:
            rows, *numbers = function(rows_of(table, kind), **arguments)
            return cases(rows, case.split(), *numbers)

        return function

    return register


# Consensus in continuous time.


# The error of the solver's times.
SOLVER = 1e-5


@statement("theory_consensus_time", "bounds", "topology n p draw", example="{form: paper}")
def consensus_time(rows: Table, form: str) -> Judged:
    """V is 0 from T* on (Theorem 3.1), with T* in a form of ``bounds.finite_time_bound``.

    Two workers meet the sharp time exactly, up to the solver's accuracy.
    """
    limit = rows[one_of("form", form, TIMES)]
    met = rows["measured"] <= limit * (1 + SOLVER)
    return rows, rows["measured"], limit, met


@statement("theory_finite_time", "bounds", "topology n draw")
def finite_time(rows: Table) -> Judged:
    """Sublinear coupling: V has fallen to ``tol`` · V(0) by the sharp T* (Figure 3, p = 1/2)."""
    return consensus_time(rows[rows["p"] == 0.5], "sharp")


# The largest distance of log V from a straight line, as a share of its fall. A sum of two
# exponentials with close rates bends by some 1 %; V that vanishes in finite time, by 10 to 35 %.
LINE = 0.05


@statement("theory_log_linear", "logs", "topology n draw")
def log_linear(rows: Table) -> Judged:
    """Linear coupling: log V is a straight line in time (Figure 3, p = 1)."""
    return rows, rows["measured"], LINE


@statement("theory_order", "orders", "seed")
def order(rows: Table) -> Judged:
    """The smaller p, the sooner consensus (Figure 3): each start is a case.

    ``measured`` is the largest ratio of a time to that of the next larger p.
    """
    times = rows.pivot(index="seed", columns="p", values="time")
    times = times.sort_index(axis=1)
    ratios = times / times.shift(-1, axis=1)  # NaN for the last p
    rows = ratios.iloc[:, :-1].max(axis=1).rename("ratio").reset_index()
    return rows, rows["ratio"], 1.0, rows["ratio"] < 1


# The error of the limit.
MEAN_ERROR = 1e-10


@statement("theory_continuous_mean", "means", "topology n draw")
def continuous_mean(rows: Table) -> Judged:
    """Continuous linear consensus ends at the initial mean (first lemma of Supplement A)."""
    return rows, rows["measured"], MEAN_ERROR


@statement("theory_switching", "switches", "signal seed")
def switching(rows: Table) -> Judged:
    """On switching graphs consensus is at least as fast as λ₂* (Supplement A)."""
    met = rows["rate"] >= rows["limit"] * (1 - EQUAL)
    return rows, rows["rate"], rows["limit"], met


# Consensus in rounds.


@statement("theory_linear_decay", "decays", "topology n gamma")
def linear_decay(rows: Table) -> Judged:
    """A step of linear gossip changes ‖x − x̄‖ by at most 1 − γλ₂ (Section 2.1)."""
    met = rows["measured"] <= rows["limit"] + EQUAL
    return rows, rows["measured"], rows["limit"], met


@statement("theory_degree_limit", "degrees", "topology n weights share")
def degree_limit(rows: Table) -> Judged:
    """Discrete linear consensus is reached for 0 < γ < 1/Δ (Supplement A).

    The theorem claims nothing for larger γ; those rows are no cases.
    """
    rows = rows[rows["share"] < 1]
    return rows, rows["residual"], VANISHED


@statement("theory_chatter_floor", "floors", "topology n p gamma")
def chatter_floor(rows: Table) -> Judged:
    """V of rounds ends near the largest two-cycle (``bounds.chatter_V``); no claim of the paper."""
    met = (rows["measured"] / rows["predicted"]).between(1 / FACTOR, FACTOR)
    return rows, rows["measured"], rows["predicted"], met


@statement("theory_random_system", "random", "n p seed", example="{form: printed}")
def random_system(rows: Table, form: str) -> Judged:
    """The random system reaches consensus with probability 1 (Section 3.3).

    ``form``: printed (weights 0 or 1, no γ) or amended (Metropolis weights and γ).
    """
    rows = rows[rows["form"] == one_of("form", form, ("printed", "amended"))]
    return rows, rows["residual"], VANISHED


@statement("theory_link_failures", "failures", "topology n p")
def link_failures(rows: Table) -> Judged:
    """V vanishes though links fail at random (Section 3.3).

    For p < 1, V may also end at twice the floor of the same rounds without failures.
    """
    limit = (FACTOR * rows["without"]).where(rows["p"] < 1, 0).clip(lower=VANISHED)
    return rows, rows["residual"], limit


# Delays.


# A delay counts in whole rounds, and a round of length h lowers the limit by some h/2.
ROUNDS_OFF = 2.0


@statement("theory_delay_limit", "limits", "topology n step")
def delay_limit(rows: Table) -> Judged:
    """Linear consensus tolerates delays up to π/(2λ_n): the shorter the rounds, the closer."""
    met = (rows["tolerated"] - rows["limit"]).abs() <= ROUNDS_OFF * rows["step"]
    return rows, rows["tolerated"], rows["limit"], met


@statement("theory_delay_unit_step", "unit_steps", "topology n delay")
def delay_unit_step(rows: Table) -> Judged:
    """The delay equation as printed, with p = 1: consensus if and only if τ ≤ π/(2λ_n).

    ``measured`` is what is left of V. It must vanish if the theorem allows the delay, and must not
    if it forbids it.
    """
    met = (rows["residual"] <= VANISHED) == (rows["delay"] <= rows["limit"])
    return rows, rows["residual"], VANISHED, met


@statement("theory_delay_residual", "delays", "topology n p", example="{linear: true}")
def delay_residual(rows: Table, linear: bool = False) -> Judged:
    """V vanishes with a delay of half the limit: sublinear coupling, or ``linear``."""
    rows = rows[rows["p"] == 1] if linear else rows[rows["p"] < 1]
    return rows, rows["residual"], VANISHED


@statement("theory_delay_floor", "delays", "topology n p")
def delay_floor(rows: Table) -> Judged:
    """Sublinear coupling, half the limit: V ends within a factor 2 of its floor without delay.

    The floor is that of the same rounds, or the share of V(0) that counts as vanished.
    """
    rows = rows[rows["p"] < 1]
    limit = (FACTOR * rows["floor"]).clip(lower=VANISHED)
    return rows, rows["residual"], limit


@statement("theory_delay_marginal", "marginal", "topology n delay share", example="{form: closed}")
def delay_marginal(rows: Table, form: str) -> Judged:
    """Consensus for τ up to the limit: ``closed`` (≤, main text) or ``open`` (<, supplement).

    ``closed`` asks that V vanishes at 0.9 of the limit and at the limit; ``open``, that it vanishes
    at 0.9 of the limit, and does not at the limit.
    """
    closed = one_of("form", form, ("closed", "open")) == "closed"
    reached = rows["residual"] <= VANISHED
    met = reached == ((rows["share"] < 1) | closed)
    return rows, rows["residual"], VANISHED, met


# SGD.


# The columns of the bound by its form.
BOUNDS = {"printed": "printed", "amended": "bound"}


# Convergence: the gap has fallen to this share.
CONVERGED = 1e-3


@quantity("theory_bound", example="{form: printed, method: centralized}", cases=True)
def within_bound(table: Table, method: str, form: str, least_T: int = 1) -> Table:
    """The gap f(x_avg^T) − f* is below the bound of Theorem 2.1 (NGO: 3.2), for T ≥ ``least_T``.

    ``form``: printed or amended, the columns ``printed`` and ``bound`` of ``convergence.gaps``.
    """
    rows = rows_of(table, "gaps")
    column = BOUNDS[one_of("form", form, BOUNDS)]
    rows = rows[(rows["method"] == method) & (rows["T"] >= least_T)].fillna({"topology": ""})
    names = ("topology", "distance", "T") if method != "centralized" else ("distance", "T")
    return cases(rows, names, rows["gap"], rows[column])


@statement("theory_index_vanishes", "gaps", "topology distance T")
def index_vanishes(rows: Table) -> Judged:
    """Under SGD with NGO, V is 0 after T* (Supplement A); T* is 0, since workers start alike."""
    rows = rows[(rows["method"] == "ngo") & (rows["T"] > 1)]
    return rows, rows["V"], 0.0


@statement("theory_convergence", "gaps", "method topology distance")
def convergence(rows: Table) -> Judged:
    """Gossip-type SGD converges (second lemma of Section 3.3): the gap falls to 1/1000."""
    rows = rows[rows["method"] != "centralized"]
    names = ["method", "topology", "distance"]
    curves = rows.sort_values("T").groupby(names)["gap"]
    share = (curves.last() / curves.first()).rename("share").reset_index()
    return share, share["share"], CONVERGED, share["share"] < CONVERGED


@quantity("theory_synchronized_gap", unit="log ratio")
def synchronized_gap(table: Table) -> Numbers:
    """Per seed: log of the gap of synchronized gossip over that of centralized SGD (Section 2.2).

    It is that of the last T; NaN if the third term of Theorem 2.1 is not below a tenth of the
    second there.
    """
    last = _last(table)
    ours = last.xs("synchronized", level="method")
    ratio = np.log(ours["gap"] / last.xs("centralized", level="method")["gap"])
    return by_seed(ratio.where(ours["sync_term"] < 0.1 * ours["noise_term"]))


@quantity("theory_gap_ratio", unit="log ratio")
def gap_ratio(table: Table) -> Numbers:
    """Per seed: log of NGO's gap over gossip's, at the last T (Section 6)."""
    gap = _last(table)["gap"]
    return by_seed(np.log(gap.xs("ngo", level="method") / gap.xs("gossip", level="method")))


def _last(table: Table) -> Table:
    """The rows of the last T of centralized SGD, by method and seed."""
    rows = rows_of(table, "races")
    end = rows.loc[rows["method"] == "centralized", "T"].max()
    return rows[rows["T"] == end].set_index(["method", "seed"]).sort_index()


@quantity("theory_speedup_slope", unit="log per log")
def speedup_slope(table: Table) -> Numbers:
    """Per seed: the slope of log gap in log n; −1 is a linear speed-up (Section 2.1)."""
    rows = rows_of(table, "speedup")
    if rows["n"].nunique() < 2:
        raise UserError("speedup_workers: a slope needs two numbers of workers or more.")
    logs = rows.assign(n=np.log(rows["n"]), gap=np.log(rows["gap"])).groupby("seed")
    slopes = {seed: np.polyfit(gaps["n"], gaps["gap"], 1)[0] for seed, gaps in logs}
    return by_seed(pd.Series(slopes))


@statement("theory_descent_lemma", "descents", "n eta_L", example="{form: printed}")
def descent_lemma(rows: Table, form: str) -> Judged:
    """The descent lemma of Section 3.3; ``form`` is printed (main text) or supplement."""
    rows = rows[rows["form"] == one_of("form", form, ("printed", "supplement"))]
    met = rows["left"] <= rows["right"] * (1 + EQUAL)
    return rows, rows["left"], rows["right"], met


@statement("theory_index_lemma", "spreads", "gamma T", example="{form: printed}")
def index_lemma(rows: Table, form: str) -> Judged:
    """E V^(t+1) ≤ 40 η_t² n G²/β² (Supplement A); ``form`` is printed or amended."""
    rows = rows[rows["form"] == one_of("form", form, ("printed", "amended"))]
    return rows, rows["V"], rows["limit"]


# The error of a sum in floating point.
ROUNDING = 1e-12


@quantity("theory_weight_sum", cases=True)
def weight_sum(table: Table) -> Table:
    """S_T = Σ_{t<T} (a + t)² has the printed closed form, and is at least T³/3 (Supplement A)."""
    rows = rows_of(table, "sums")
    closed = (rows["closed"] - rows["summed"]).abs() <= ROUNDING * rows["summed"]
    equal = cases(rows, ("a", "T"), rows["closed"], rows["summed"], closed)
    least = cases(rows, ("a", "T"), rows["summed"], rows["least"], rows["summed"] >= rows["least"])
    least["case"] += ", against T³/3"
    return pd.concat([equal, least], ignore_index=True)
