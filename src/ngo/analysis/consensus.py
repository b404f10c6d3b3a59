"""Spectra of graphs, and consensus without learning."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ngo.analysis.seed_means import together
from ngo.common.files import found
from ngo.common.lazy import pd
from ngo.common.registries import TOPOLOGIES
from ngo.gossip.bounds import delay_limit
from ngo.gossip.schedule import Mixing

# Degrees and spectral gaps of the topologies compared with the paper's (Table S1).

#: Degrees as printed, and a random graph's as it is; n is the number of workers.
DEGREES = {
    "2": lambda n, u: 2.0,
    "un": lambda n, u: u * n,
    "u(n-1)": lambda n, u: u * (n - 1),
    "n-1": lambda n, u: n - 1.0,
}

#: A mean degree is as printed within this many of its standard errors.
STANDARD_ERRORS = 4


def spectral_comparison(spectra: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Table S1: our degrees and spectral gaps, and the paper's where it printed one.

    ``agrees`` says whether our gap, rounded as the paper rounded, is what it printed;
    ``degree_agrees`` the same of ``paper_degree``, and ``true_degree_agrees`` of ``true_degree``,
    u(n − 1) for a random graph (see ``is_degree``); ``undecided`` if the draws agree with both.
    """
    printed = pd.read_csv(found(reference), dtype={"spectral_gap": str, "node_degree": str})
    printed = printed.rename(columns={"spectral_gap": "paper", "node_degree": "paper_degree"})
    table = spectra.merge(printed, on=["topology", "n"], how="left")
    ours = [
        f"{gap:.{len(text.partition('.')[2])}f}" if pd.notna(text) else None
        for gap, text in zip(table["spectral_gap"], table["paper"], strict=True)
    ]
    agrees = pd.Series(ours, index=table.index) == table["paper"]
    table["agrees"] = _words(agrees, table["paper"].notna())
    table["paper"] = table["paper"].astype(float)
    table["difference"] = table["spectral_gap"] - table["paper"]
    known = table["paper_degree"].isin(list(DEGREES))
    table["true_degree"] = table["paper_degree"].replace({"un": "u(n-1)"})
    forms = {"degree_agrees": "paper_degree", "true_degree_agrees": "true_degree"}
    for name, form in forms.items():
        table[name] = _words(is_degree(table, table[form]), known)
    both = table[[*forms]].eq("yes").all(axis=1) & (table["paper_degree"] != table["true_degree"])
    table.loc[both, [*forms]] = "undecided"
    return table


def is_degree(spectra: pd.DataFrame, forms: pd.Series) -> pd.Series:
    """Whether the mean degree in each row is that of ``forms``, the names in ``DEGREES``.

    Equal for a fixed graph. A random graph's is a mean over ``draws`` within ``STANDARD_ERRORS``:
    the degree of a G(n, u), averaged over its nodes, has the variance 2u(1 − u)(n − 1)/n. False for
    other forms.
    """
    n, u = spectra["n"].astype(float), spectra["u"].astype(float)
    error = np.sqrt(2 * u * (1 - u) * (n - 1) / n / spectra["draws"]).fillna(0)
    expected = [
        DEGREES[form](size, chance) if form in DEGREES else np.nan
        for form, size, chance in zip(forms, n, u, strict=True)
    ]
    return (spectra["degree"] - expected).abs() <= STANDARD_ERRORS * error + 1e-9


def _words(yes: pd.Series, known: pd.Series) -> pd.Series:
    return yes.map({True: "yes", False: "no"}).where(known)


# Trajectories: rounds to consensus, the limit of the delay, states by round.


def courses(trajectories: pd.DataFrame, share: float) -> pd.DataFrame:
    """The trajectories as one table of two parts (``seed_means.part``).

    ``states``: a row for each p, delay and round, with V and the workers' states, x0, x1, …
    ``rounds``: the first round with V ≤ ``share`` · V(0), or NaN, and the last V, for each p and
    delay.
    """
    records = []
    for (p, delay), group in trajectories.groupby(["p", "delay"]):
        V = group.drop_duplicates("round").set_index("round")["V"].sort_index()
        reached = V.index[share * V.iloc[0] >= V]
        first = reached[0] if len(reached) else float("nan")
        records.append((p, delay, V.iloc[0], first, V.iloc[-1]))
    columns = ["p", "delay", "V_initial", "first_round", "V_final"]
    rounds = pd.DataFrame(records, columns=columns)
    return together(states=in_columns(trajectories, "worker", "x"), rounds=rounds)


def delay_limit_in_rounds(trajectories: pd.DataFrame) -> float:
    """The limit of the delay theorem on the trajectories' graph, in rounds: π/(2λ_n(L(W))) / γ.

    Infinity for a topology that changes from round to round.
    """
    run = trajectories.to_dict("records")[0]
    if TOPOLOGIES[run["topology"]].varies:
        return math.inf
    W = Mixing(run["topology"], run["workers"], SimpleNamespace(**run)).at(0)
    return delay_limit(W.dense()) / run["gamma"]


def in_columns(table: pd.DataFrame, number: str, value: str) -> pd.DataFrame:
    """The table with the ``value`` of each ``number`` in a column of its own: x0, x1, …"""
    others = [name for name in table if name not in (number, value)]
    wide = table.pivot(index=others, columns=number, values=value)
    return wide.add_prefix("x").rename_axis(columns=None).reset_index()
