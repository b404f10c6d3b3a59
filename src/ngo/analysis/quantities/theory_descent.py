"""Statements on SGD: Theorems 2.1 and 3.2, their lemmas, speed-up and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.analysis.theory_cases import by_seed, cases, part
from ngo.common.registry import UserError
from verdicts.quantity import quantity

if TYPE_CHECKING:
    import pandas as pd

# The error of a sum in floating point, and of the two sides of an inequality.
ROUNDING, EQUAL = 1e-12, 1e-9

# Convergence: the gap has fallen to this share.
CONVERGED = 1e-3

# The third term of Theorem 2.1 is small below this share of the second.
SMALL_TERM = 0.1


@quantity("theory_bound", example="{form: printed, method: centralized}", cases=True)
def bound(table: pd.DataFrame, method: str, form: str, least_T: int = 1) -> pd.DataFrame:
    """The gap f(x_avg^T) − f* is below the bound of Theorem 2.1 (NGO: 3.2), for T ≥ ``least_T``.

    ``form``: printed or amended, the columns ``printed`` and ``bound`` of
    ``convergence_gaps.convergence_gaps``.
    """
    rows = part(table, "gaps")
    column = _column(form, {"printed": "printed", "amended": "bound"})
    rows = rows[(rows["method"] == method) & (rows["T"] >= least_T)].fillna({"topology": ""})
    names = ("topology", "distance", "T") if method != "centralized" else ("distance", "T")
    return cases(rows, names, rows["gap"], rows[column], rows["gap"] <= rows[column])


@quantity("theory_weight_sum", cases=True)
def weight_sum(table: pd.DataFrame) -> pd.DataFrame:
    """S_T = Σ_{t<T} (a + t)² has the printed closed form, and is at least T³/3 (Supplement A)."""
    import pandas as pd

    rows = part(table, "sums")
    closed = (rows["closed"] - rows["summed"]).abs() <= ROUNDING * rows["summed"]
    equal = cases(rows, ("a", "T"), rows["closed"], rows["summed"], closed)
    least = cases(rows, ("a", "T"), rows["summed"], rows["least"], rows["summed"] >= rows["least"])
    least["case"] += ", against T³/3"
    return pd.concat([equal, least], ignore_index=True)


@quantity("theory_index_vanishes", cases=True)
def index_vanishes(table: pd.DataFrame) -> pd.DataFrame:
    """Under SGD with NGO, V is 0 after T* (Supplement A); T* is 0, since workers start alike."""
    rows = part(table, "gaps")
    rows = rows[(rows["method"] == "ngo") & (rows["T"] > 1)]
    return cases(rows, ("topology", "distance", "T"), rows["V"], 0.0, rows["V"] == 0)


@quantity("theory_convergence", cases=True)
def convergence(table: pd.DataFrame) -> pd.DataFrame:
    """Gossip-type SGD converges (second lemma of Section 3.3): the gap falls to 1/1000."""
    rows = part(table, "gaps")
    rows = rows[rows["method"] != "centralized"]
    curves = rows.sort_values("T").groupby(["method", "topology", "distance"])["gap"]
    share = (curves.last() / curves.first()).rename("share").reset_index()
    names = ("method", "topology", "distance")
    return cases(share, names, share["share"], CONVERGED, share["share"] < CONVERGED)


@quantity("theory_descent_lemma", example="{form: printed}", cases=True)
def descent_lemma(table: pd.DataFrame, form: str) -> pd.DataFrame:
    """The descent lemma of Section 3.3; ``form`` is printed (main text) or supplement."""
    rows = part(table, "descents")
    rows = rows[rows["form"] == _column(form, {"printed": "printed", "supplement": "supplement"})]
    met = rows["left"] <= rows["right"] * (1 + EQUAL)
    return cases(rows, ("n", "eta_L"), rows["left"], rows["right"], met)


@quantity("theory_index_lemma", example="{form: printed}", cases=True)
def index_lemma(table: pd.DataFrame, form: str) -> pd.DataFrame:
    """E V^(t+1) ≤ 40 η_t² n G²/β² (Supplement A); ``form`` is printed or amended."""
    rows = part(table, "spreads")
    rows = rows[rows["form"] == _column(form, {"printed": "printed", "amended": "amended"})]
    return cases(rows, ("gamma", "T"), rows["V"], rows["limit"], rows["V"] <= rows["limit"])


@quantity("theory_speedup_slope", unit="log per log")
def speedup_slope(table: pd.DataFrame) -> pd.Series:
    """Per seed: the slope of log gap in log n; −1 is a linear speed-up (Section 2.1)."""
    import numpy as np
    import pandas as pd

    rows = part(table, "speedup")
    if rows["n"].nunique() < 2:
        raise UserError("speedup_workers: a slope needs two numbers of workers or more.")
    slopes = {
        seed: np.polyfit(np.log(group["n"]), np.log(group["gap"]), 1)[0]
        for seed, group in rows.groupby("seed")
    }
    return by_seed(pd.Series(slopes))


@quantity("theory_synchronized_gap", unit="log ratio")
def synchronized_gap(table: pd.DataFrame) -> pd.Series:
    """Per seed: log of the gap of synchronized gossip over that of centralized SGD (Section 2.2).

    It is that of the last T; NaN if the third term of Theorem 2.1 is not below a tenth of the
    second there.
    """
    import numpy as np

    last = _last(table)
    ours = last.xs("synchronized", level="method")
    ratio = np.log(ours["gap"] / last.xs("centralized", level="method")["gap"])
    return by_seed(ratio.where(ours["sync_term"] < SMALL_TERM * ours["noise_term"]))


@quantity("theory_gap_ratio", unit="log ratio")
def gap_ratio(table: pd.DataFrame) -> pd.Series:
    """Per seed: log of NGO's gap over gossip's, at the last T (Section 6)."""
    import numpy as np

    gap = _last(table)["gap"]
    return by_seed(np.log(gap.xs("ngo", level="method") / gap.xs("gossip", level="method")))


def _last(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the last T, by method and seed."""
    rows = part(table, "races")
    return rows[rows["T"] == rows["T"].max()].set_index(["method", "seed"]).sort_index()


def _column(form: str, columns: dict[str, str]) -> str:
    if form not in columns:
        raise UserError(f"form: {form!r} is not allowed; it must be {' or '.join(columns)}.")
    return columns[form]
