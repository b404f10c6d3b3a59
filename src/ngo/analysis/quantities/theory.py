"""Statements on consensus without learning: Section 2.1, Theorem 3.1, Figure 3, Supplement A."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.analysis.theory_cases import FACTOR, by_seed, cases, part
from ngo.common.registry import UserError
from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

# The error of a ratio of two norms, of the solver's times, and of a limit in continuous time.
ROUNDING, SOLVER, MEAN_ERROR = 1e-9, 1e-5, 1e-10

# The largest distance of log V from a straight line, as a share of its fall. A sum of two
# exponentials with close rates bends by some 1 %; V that vanishes in finite time, by 10 to 35 %.
LINE = 0.05

FORMS = ("paper", "corrected", "sharp")


@quantity("theory_linear_decay", cases=True)
def linear_decay(table: pd.DataFrame) -> pd.DataFrame:
    """A step of linear gossip changes ‖x − x̄‖ by at most 1 − γλ₂ (Section 2.1)."""
    rows = part(table, "decays")
    met = rows["measured"] <= rows["limit"] + ROUNDING
    return cases(rows, ("topology", "n", "gamma"), rows["measured"], rows["limit"], met)


@quantity("theory_continuous_mean", cases=True)
def continuous_mean(table: pd.DataFrame) -> pd.DataFrame:
    """Continuous linear consensus ends at the initial mean (first lemma of Supplement A)."""
    rows = part(table, "means")
    met = rows["measured"] <= MEAN_ERROR
    return cases(rows, ("topology", "n", "draw"), rows["measured"], MEAN_ERROR, met)


@quantity("theory_consensus_time", example="{form: paper}", cases=True)
def consensus_time(table: pd.DataFrame, form: str) -> pd.DataFrame:
    """V is 0 from T* on (Theorem 3.1), with T* in a form of ``theory.finite_time_bound``.

    Two workers meet the sharp time exactly, up to the solver's accuracy.
    """
    rows = part(table, "bounds")
    if form not in FORMS:
        raise UserError(f"form: {form!r} is not allowed; it must be one of {', '.join(FORMS)}.")
    met = rows["measured"] <= rows[form] * (1 + SOLVER)
    return cases(rows, ("topology", "n", "p", "draw"), rows["measured"], rows[form], met)


@quantity("theory_finite_time", cases=True)
def finite_time(table: pd.DataFrame) -> pd.DataFrame:
    """Sublinear coupling: V has fallen to ``tol`` · V(0) by the sharp T* (Figure 3, p = 1/2)."""
    rows = part(table, "bounds")
    rows = rows[rows["p"] == 0.5]
    met = rows["measured"] <= rows["sharp"] * (1 + SOLVER)
    return cases(rows, ("topology", "n", "draw"), rows["measured"], rows["sharp"], met)


@quantity("theory_log_linear", cases=True)
def log_linear(table: pd.DataFrame) -> pd.DataFrame:
    """Linear coupling: log V is a straight line in time (Figure 3, p = 1)."""
    rows = part(table, "logs")
    met = rows["measured"] <= LINE
    return cases(rows, ("topology", "n", "draw"), rows["measured"], LINE, met)


@quantity("theory_order", cases=True)
def order(table: pd.DataFrame) -> pd.DataFrame:
    """The smaller p, the sooner consensus (Figure 3): each start is a case.

    ``measured`` is the largest ratio of a time to that of the next larger p.
    """
    times = _times(table).sort_index(axis=1)
    ratios = times / times.shift(-1, axis=1)  # NaN for the last p
    rows = ratios.iloc[:, :-1].max(axis=1).rename("ratio").reset_index()
    return cases(rows, ("seed",), rows["ratio"], 1.0, rows["ratio"] < 1)


@quantity("theory_order_lead", unit="log ratio", example="{first: 0.5, then: 1}")
def order_lead(table: pd.DataFrame, first: float, then: float) -> pd.Series:
    """Per start: log of the consensus time with p = ``then`` over that with p = ``first``."""
    import numpy as np

    times = _times(table)
    for name, p in (("first", first), ("then", then)):
        if p not in times:
            known = ", ".join(f"{each:g}" for each in sorted(times))
            raise UserError(f"{name}: p = {p!r} was not measured; it must be one of {known}.")
    return by_seed(np.log(times[then] / times[first]))


@quantity("theory_chatter_floor", cases=True)
def chatter_floor(table: pd.DataFrame) -> pd.DataFrame:
    """V of rounds ends near the largest two-cycle (``theory.chatter_V``); no claim of the paper."""
    rows = part(table, "floors")
    ratio = rows["measured"] / rows["predicted"]
    met = ratio.between(1 / FACTOR, FACTOR)
    names = ("topology", "n", "p", "gamma")
    return cases(rows, names, rows["measured"], rows["predicted"], met)


def _times(table: pd.DataFrame) -> pd.DataFrame:
    """Consensus times ``[start, p]``."""
    return part(table, "orders").pivot(index="seed", columns="p", values="time")
