"""The paper's theorems, lemmas and statements, judged on the table of ``ngo theory``."""

from __future__ import annotations

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
    """``values``, indexed by seed, as floats with seeds as whole numbers."""
    values = values.astype(float)
    values.index = values.index.astype(int)
    return values.rename_axis("seed")


# Consensus in continuous time.


# The error of the solver's times.
SOLVER = 1e-5


@quantity("theory_consensus_time", example="{form: paper}", cases=True)
def consensus_time(table: Table, form: str) -> Table:
    """V is 0 from T* on (Theorem 3.1), with T* in a form of ``bounds.finite_time_bound``.

    Two workers meet the sharp time exactly, up to the solver's accuracy.
    """
    rows = rows_of(table, "bounds")
    limit = rows[one_of("form", form, TIMES)]
    met = rows["measured"] <= limit * (1 + SOLVER)
    return cases(rows, ("topology", "n", "p", "draw"), rows["measured"], limit, met)


@quantity("theory_finite_time", cases=True)
def finite_time(table: Table) -> Table:
    """Sublinear coupling: V has fallen to ``tol`` · V(0) by the sharp T* (Figure 3, p = 1/2)."""
    rows = rows_of(table, "bounds")
    rows = rows[rows["p"] == 0.5]
    met = rows["measured"] <= rows["sharp"] * (1 + SOLVER)
    return cases(rows, ("topology", "n", "draw"), rows["measured"], rows["sharp"], met)


# The largest distance of log V from a straight line, as a share of its fall. A sum of two
# exponentials with close rates bends by some 1 %; V that vanishes in finite time, by 10 to 35 %.
LINE = 0.05


@quantity("theory_log_linear", cases=True)
def log_linear(table: Table) -> Table:
    """Linear coupling: log V is a straight line in time (Figure 3, p = 1)."""
    rows = rows_of(table, "logs")
    return cases(rows, ("topology", "n", "draw"), rows["measured"], LINE)


@quantity("theory_order", cases=True)
def order(table: Table) -> Table:
    """The smaller p, the sooner consensus (Figure 3): each start is a case.

    ``measured`` is the largest ratio of a time to that of the next larger p.
    """
    times = rows_of(table, "orders").pivot(index="seed", columns="p", values="time")
    times = times.sort_index(axis=1)
    ratios = times / times.shift(-1, axis=1)  # NaN for the last p
    rows = ratios.iloc[:, :-1].max(axis=1).rename("ratio").reset_index()
    return cases(rows, ("seed",), rows["ratio"], 1.0, rows["ratio"] < 1)


# The error of the limit.
MEAN_ERROR = 1e-10


@quantity("theory_continuous_mean", cases=True)
def continuous_mean(table: Table) -> Table:
    """Continuous linear consensus ends at the initial mean (first lemma of Supplement A)."""
    rows = rows_of(table, "means")
    return cases(rows, ("topology", "n", "draw"), rows["measured"], MEAN_ERROR)


@quantity("theory_switching", cases=True)
def switching(table: Table) -> Table:
    """On switching graphs consensus is at least as fast as λ₂* (Supplement A)."""
    rows = rows_of(table, "switches")
    met = rows["rate"] >= rows["limit"] * (1 - EQUAL)
    return cases(rows, ("signal", "seed"), rows["rate"], rows["limit"], met)


# Consensus in rounds.


@quantity("theory_linear_decay", cases=True)
def linear_decay(table: Table) -> Table:
    """A step of linear gossip changes ‖x − x̄‖ by at most 1 − γλ₂ (Section 2.1)."""
    rows = rows_of(table, "decays")
    met = rows["measured"] <= rows["limit"] + EQUAL
    return cases(rows, ("topology", "n", "gamma"), rows["measured"], rows["limit"], met)


@quantity("theory_degree_limit", cases=True)
def degree_limit(table: Table) -> Table:
    """Discrete linear consensus is reached for 0 < γ < 1/Δ (Supplement A).

    The theorem claims nothing for larger γ; those rows are no cases.
    """
    rows = rows_of(table, "degrees")
    rows = rows[rows["share"] < 1]
    names = ("topology", "n", "weights", "share")
    return cases(rows, names, rows["residual"], VANISHED)


@quantity("theory_chatter_floor", cases=True)
def chatter_floor(table: Table) -> Table:
    """V of rounds ends near the largest two-cycle (``bounds.chatter_V``); no claim of the paper."""
    rows = rows_of(table, "floors")
    met = (rows["measured"] / rows["predicted"]).between(1 / FACTOR, FACTOR)
    names = ("topology", "n", "p", "gamma")
    return cases(rows, names, rows["measured"], rows["predicted"], met)


@quantity("theory_random_system", example="{form: printed}", cases=True)
def random_system(table: Table, form: str) -> Table:
    """The random system reaches consensus with probability 1 (Section 3.3).

    ``form``: printed (weights 0 or 1, no γ) or amended (Metropolis weights and γ).
    """
    rows = rows_of(table, "random")
    rows = rows[rows["form"] == one_of("form", form, ("printed", "amended"))]
    return cases(rows, ("n", "p", "seed"), rows["residual"], VANISHED)


@quantity("theory_link_failures", cases=True)
def link_failures(table: Table) -> Table:
    """V vanishes though links fail at random (Section 3.3).

    For p < 1, V may also end at twice the floor of the same rounds without failures.
    """
    rows = rows_of(table, "failures")
    limit = (FACTOR * rows["without"]).where(rows["p"] < 1, 0).clip(lower=VANISHED)
    return cases(rows, ("topology", "n", "p"), rows["residual"], limit)


# Delays.


# A delay counts in whole rounds, and a round of length h lowers the limit by some h/2.
ROUNDS_OFF = 2.0


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
    return cases(rows, ("topology", "n", "p"), rows["residual"], VANISHED)


@quantity("theory_delay_floor", cases=True)
def delay_floor(table: Table) -> Table:
    """Sublinear coupling, half the limit: V ends within a factor 2 of its floor without delay.

    The floor is that of the same rounds, or the share of V(0) that counts as vanished.
    """
    rows = rows_of(table, "delays")
    rows = rows[rows["p"] < 1]
    limit = (FACTOR * rows["floor"]).clip(lower=VANISHED)
    return cases(rows, ("topology", "n", "p"), rows["residual"], limit)


@quantity("theory_delay_marginal", example="{form: closed}", cases=True)
def delay_marginal(table: Table, form: str) -> Table:
    """Consensus for τ up to the limit: ``closed`` (≤, main text) or ``open`` (<, supplement).

    ``closed`` asks that V vanishes at 0.9 of the limit and at the limit; ``open``, that it vanishes
    at 0.9 of the limit, and does not at the limit.
    """
    closed = one_of("form", form, ("closed", "open")) == "closed"
    rows = rows_of(table, "marginal")
    reached = rows["residual"] <= VANISHED
    met = reached == ((rows["share"] < 1) | closed)
    names = ("topology", "n", "delay", "share")
    return cases(rows, names, rows["residual"], VANISHED, met)


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


@quantity("theory_index_vanishes", cases=True)
def index_vanishes(table: Table) -> Table:
    """Under SGD with NGO, V is 0 after T* (Supplement A); T* is 0, since workers start alike."""
    rows = rows_of(table, "gaps")
    rows = rows[(rows["method"] == "ngo") & (rows["T"] > 1)]
    return cases(rows, ("topology", "distance", "T"), rows["V"], 0.0)


@quantity("theory_convergence", cases=True)
def convergence(table: Table) -> Table:
    """Gossip-type SGD converges (second lemma of Section 3.3): the gap falls to 1/1000."""
    rows = rows_of(table, "gaps")
    rows = rows[rows["method"] != "centralized"]
    names = ["method", "topology", "distance"]
    curves = rows.sort_values("T").groupby(names)["gap"]
    share = (curves.last() / curves.first()).rename("share").reset_index()
    return cases(share, names, share["share"], CONVERGED, share["share"] < CONVERGED)


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


@quantity("theory_descent_lemma", example="{form: printed}", cases=True)
def descent_lemma(table: Table, form: str) -> Table:
    """The descent lemma of Section 3.3; ``form`` is printed (main text) or supplement."""
    rows = rows_of(table, "descents")
    rows = rows[rows["form"] == one_of("form", form, ("printed", "supplement"))]
    met = rows["left"] <= rows["right"] * (1 + EQUAL)
    return cases(rows, ("n", "eta_L"), rows["left"], rows["right"], met)


@quantity("theory_index_lemma", example="{form: printed}", cases=True)
def index_lemma(table: Table, form: str) -> Table:
    """E V^(t+1) ≤ 40 η_t² n G²/β² (Supplement A); ``form`` is printed or amended."""
    rows = rows_of(table, "spreads")
    rows = rows[rows["form"] == one_of("form", form, ("printed", "amended"))]
    return cases(rows, ("gamma", "T"), rows["V"], rows["limit"])


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
