"""Verdicts on the statements of the theorems, from what was measured."""

from __future__ import annotations

import math

import pandas as pd

from ngo.analysis.theory_cases import hardest, part
from verdicts.quantity import QUANTITIES

# A statement, the quantity that gives its cases, and the quantity's arguments.
STATEMENTS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("Section 2.1: a step of linear gossip, by 1 − γλ₂", "theory_linear_decay", {}),
    ("Supplement A: continuous linear consensus, at the mean", "theory_continuous_mean", {}),
    *(
        (f"Theorem 3.1: consensus by T*, {name}", "theory_consensus_time", {"form": form})
        for form, name in (
            ("paper", "as printed"),
            ("corrected", "corrected"),
            ("sharp", "sharp (twice the printed)"),
        )
    ),
    ("Figure 3: consensus by the sharp T*, p = 1/2", "theory_finite_time", {}),
    ("Figure 3: log V straight in time, p = 1", "theory_log_linear", {}),
    ("Figure 3: the smaller p, the sooner consensus", "theory_order", {}),
    *(
        (f"Theorem 2.1: the gap, {method}, {name}", "theory_bound",
         {"method": method, "form": form})
        for method in ("centralized", "gossip")
        for form, name in (("printed", "as printed"), ("amended", "with ‖x⁰ − x*‖²"))
    ),
    ("Theorem 3.2: the gap, NGO, V summed over all steps, T ≥ 100", "theory_bound",
     {"method": "ngo", "form": "amended", "least_T": 100}),
    ("Theorem 3.2: the gap, NGO, V summed to T*, as printed, T ≥ 100", "theory_bound",
     {"method": "ngo", "form": "printed", "least_T": 100}),
    ("Theorem 3.2: the sum S_T", "theory_weight_sum", {}),
    ("Theorem 3.2: V is 0 after T*", "theory_index_vanishes", {}),
    ("Section 3.3: the descent lemma, main text", "theory_descent_lemma", {"form": "printed"}),
    ("Section 3.3: the descent lemma, supplement", "theory_descent_lemma", {"form": "supplement"}),
    ("Section 3.3: SGD with gossip or NGO converges", "theory_convergence", {}),
    ("Supplement A: V under SGD, β = 1 − γλ₂ as printed", "theory_index_lemma",
     {"form": "printed"}),
    ("Supplement A: V under SGD, β = γλ₂", "theory_index_lemma", {"form": "amended"}),
    ("Supplement A: discrete linear consensus, γ < 1/Δ", "theory_degree_limit", {}),
    ("Delay theorem: the tolerated delay, p = 1, short rounds", "theory_delay_limit", {}),
    ("Delay theorem: rounds of length 1 as printed, p = 1", "theory_delay_unit_step", {}),
    ("Delay theorem: V vanishes at half the limit, p = 1", "theory_delay_residual",
     {"linear": True}),
    ("Delay theorem: V vanishes at half the limit, p < 1", "theory_delay_residual", {}),
    ("Delay theorem: V within a factor 2 of its floor without delay, p < 1",
     "theory_delay_floor", {}),
    ("Delay theorem: the limit included, main text", "theory_delay_marginal", {"form": "closed"}),
    ("Delay theorem: the limit excluded, supplement", "theory_delay_marginal", {"form": "open"}),
    ("Random graphs: consensus, weights 0 or 1 as printed", "theory_random_system",
     {"form": "printed"}),
    ("Random graphs: consensus, Metropolis weights and γ", "theory_random_system",
     {"form": "amended"}),
    ("Supplement A: switching graphs, at least at λ₂*", "theory_switching", {}),
    ("Section 3.3: V vanishes though links fail", "theory_link_failures", {}),
    ("Chatter floor: the largest two-cycle, within a factor 2", "theory_chatter_floor", {}),
)  # fmt: skip


def split(whole: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables of ``theory.theory_table``, by kind."""
    return {kind: part(whole, kind) for kind in whole["kind"].unique()}


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each statement: its hardest case, and whether it holds in all cases.

    ``measured`` and ``theory`` are the values of the hardest case, and ``ratio`` is their quotient.
    The statement holds in ``met`` of ``cases`` cases.
    """
    records = []
    for statement, name, arguments in STATEMENTS:
        found = QUANTITIES[name].function(table, **arguments)
        worst = hardest(found)
        records.append(
            {
                "statement": statement,
                "case": worst["case"],
                "measured": worst["measured"],
                "theory": worst["limit"],
                "ratio": worst["measured"] / worst["limit"] if worst["limit"] else math.inf,
                "cases": len(found),
                "met": int(found["met"].sum()),
                "verdict": "holds" if found["met"].all() else "fails",
            }
        )
    return pd.DataFrame(records)
