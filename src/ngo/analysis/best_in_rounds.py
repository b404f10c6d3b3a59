"""Each way to mix at its own best p and γ, in rounds without learning (``measures.rounds``)."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from ngo.analysis.seed_means import points
from ngo.common.lazy import pd, torch
from ngo.common.registries import TOPOLOGIES
from ngo.gossip.bounds import finite_time_bound
from ngo.gossip.consensus_dynamics import Chebyshev
from ngo.gossip.schedule import Mixing
from verdicts.scores import best

SITUATION = ["disturbance", "strength", "topology"]
MIXER = [*SITUATION, "mixer"]
TUNED = ["p", "gamma"]

VALUES = ["V", "V_early", "V_settled"]

#: A way to mix without learning: ``linear``, ``NGO`` or another coupling.
Mixer = Annotated[str, "mixer"]

LINEAR, NGO = "linear", "NGO"

#: Disturbances under which V does not go to 0.
FLOORS = ("drift", "noise")

ENDS = ["mean", "low", "high"]

#: The share of V(0) below which V is rounding error; smaller values count as this one.
LEAST = 1e-30


def with_mixers(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the column ``mixer``.

    No V is below ``LEAST`` · V(0), so that all have logarithms.
    """
    start = table["round"] == 0
    first = table[start].drop_duplicates("seed").set_index("seed")["V"]
    least = LEAST * table["seed"].map(first)
    values = {name: table[name].mask(table[name] < least, least) for name in VALUES}
    return table.assign(mixer=mixers(table), **values)


def mixers(table: pd.DataFrame) -> pd.Series:
    """The mixer of each row: ``linear`` or ``NGO``, both coupling power, or else the coupling."""
    linear = table["coupling"].eq("power") & table["p"].eq(1)
    return table["coupling"].replace("power", NGO).mask(linear, LINEAR)


def linear_or_not(metrics: pd.DataFrame) -> pd.Series:
    """The coupling of each row as one of the paper's methods, late or with local steps or not.

    A linear coupling (p = 1) is ``gossip``, another ``ngo``; a method without one is itself.
    """
    return metrics["method"].mask(metrics["p"].notna(), "ngo").mask(metrics["p"] == 1, "gossip")


def ends(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each case and seed: the last recorded round."""
    return table[table["round"] == table["round"].max()]


def best_rows(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """The rows of each mixer at its best p and γ in each situation, of the second half of seeds.

    Best is the lowest geometric mean of ``value`` over the first half of the seeds. A case with a
    value that is not finite comes last; ties go to the larger p, then to the smaller γ. A single
    seed both chooses and is compared.
    """
    seeds = sorted(table["seed"].unique())
    half = max(1, len(seeds) // 2)
    first = ends(table)[lambda rows: rows["seed"].isin(seeds[:half])]
    logs = -np.log(first[value]).where(np.isfinite(first[value]), np.inf)
    means = first.assign(score=logs).groupby([*MIXER, *TUNED])["score"].mean().reset_index()
    chosen = best(means, TUNED, MIXER)[[*MIXER, *TUNED]]
    others = table[table["seed"].isin(seeds[half:] or seeds)]
    return others.merge(chosen, on=[*MIXER, *TUNED])


def compared_mixers(table: pd.DataFrame) -> pd.DataFrame:
    """``comparison`` by ``V_early``, by ``V_settled`` under disturbances that leave a floor.

    Undisturbed rounds have the bounds of theory, too (``with_theory``).
    """
    clean, floor = table["disturbance"] == "none", table["disturbance"].isin(FLOORS)
    start = table[clean & (table["round"] == 0)]
    n, early = int(table["workers"].iloc[0]), int(table["early"].iloc[0])
    parts = [with_theory(comparison(table[clean], "V_early"), n, early, start["V"].mean())]
    others = (~clean & ~floor, "V_early"), (floor, "V_settled")
    parts += [comparison(table[rows], value) for rows, value in others if rows.any()]
    return pd.concat(parts, ignore_index=True)


def comparison(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """Each mixer at its best in each situation, compared with linear gossip at its best.

    Columns: ``MIXER``, ``TUNED``; mean, low, high of ``value`` (geometric, ``seed_means.points``);
    and the same of its ratio to linear gossip's on the same topology, paired by seed.
    """
    chosen = ends(best_rows(with_mixers(table), value))
    V = chosen[value]
    chosen = chosen.assign(V=V, diverged=~np.isfinite(V), run=chosen["seed"])
    linear = chosen.loc[chosen["mixer"] == "linear", [*SITUATION, "seed", "V"]]
    chosen = chosen.merge(linear, how="left", on=[*SITUATION, "seed"], suffixes=("", "_linear"))
    by = [*MIXER, *TUNED]
    means = points(chosen.assign(ratio=chosen["V"] / chosen["V_linear"]), by, ["V", "ratio"])
    values = means[means["value"] == "V"].drop(columns="value")
    ratios = means[means["value"] == "ratio"].set_index(by)[ENDS].add_prefix("ratio_")
    return values.merge(ratios.reset_index(), on=by)


def with_theory(rows: pd.DataFrame, n: int, t: int, V0: float) -> pd.DataFrame:
    """Rows of ``comparison`` for ``n`` workers, with ``V_bound`` and ``T_star``.

    ``V_bound``: the largest V that ``t`` undisturbed rounds can leave of V(0) = ``V0``, of linear
    and of accelerated gossip. ``T_star``: the rounds after which Theorem 3.1, with the factor that
    its proof loses (``finite_time_bound``), has NGO agree in continuous time. NaN where theory has
    none: for other mixers, and on random graphs.
    """
    mixers = rows.to_dict("records")
    return rows.assign(
        V_bound=[V0 * _largest_share(row, n, t) for row in mixers],
        T_star=[_consensus_time(row, n, V0) for row in mixers],
    )


def _largest_share(row: dict, n: int, t: int) -> float:
    """The largest V(t)/V(0): ‖P − 11ᵀ/n‖², where P is what the rounds make of the identity."""
    random = "generator" in TOPOLOGIES[row["topology"]].arguments
    if row["mixer"] not in ("linear", "chebyshev") or random:
        return math.nan
    mixing, gamma = Mixing(row["topology"], n, None), row["gamma"]
    accelerated = Chebyshev(mixing.at(0).dense(), gamma)
    P = torch.eye(n).double()
    for k in range(t):
        W = mixing.at(k).dense()
        P = accelerated(P, W, P) if row["mixer"] == "chebyshev" else P + gamma * (W @ P - P)
    return float(torch.linalg.matrix_norm(P - 1 / n, 2)) ** 2


def _consensus_time(row: dict, n: int, V0: float) -> float:
    if row["mixer"] != "NGO" or TOPOLOGIES[row["topology"]].varies:
        return math.nan
    W = Mixing(row["topology"], n, None).at(0)
    return finite_time_bound(V0, W, row["p"], row["gamma"])
