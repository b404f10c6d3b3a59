"""Claims about two sides whose runs are not paired: other seeds, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from verdicts.claims.claim import SIDES, Claim
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError
from verdicts.rows.evaluations import Value
from verdicts.rows.seed_values import by_seed, logs, mean_over
from verdicts.rows.selection import Selection, selected
from verdicts.statistics.evidence import Evidence, Expectation
from verdicts.statistics.two_sample import PERMUTATION, WELCH, unpaired_evidence

#: The values of both sides, by seed.
Sides = tuple[pd.Series, pd.Series]


def values_of(
    rows: pd.DataFrame,
    where: Selection,
    value: Value,
    over: Sequence[str] = (),
    *,
    log: bool = False,
) -> pd.Series:
    """The value of each run with ``where``, by seed; the mean over the fields ``over``.

    Without the column ``seed``, each run has a seed of its own. A UserError like ``by_seed``.
    """
    rows = selected(rows, where)
    if "seed" not in rows:
        if over:
            raise UserError("over: it needs the column 'seed', which the rows lack.")
        rows = rows.assign(seed=pd.factorize(rows.get("run", rows.index))[0])
    table = by_seed(rows, {}, value, over)
    return mean_over(logs(table) if log else table)


def _is_meant(columns: Iterable[object]) -> bool:
    """Whether a column is called nearly ``seed``, or has that word in its name."""
    names = [str(name).lower() for name in columns]
    return bool(get_close_matches("seed", names, cutoff=0.7)) or any("seed" in n for n in names)


def unpaired_sides(claim: Claim, rows: pd.DataFrame) -> Sides | None:
    """Both sides of a claim that names an unpaired test, or whose sides share no seed.

    None if its runs are paired, or if a column may be meant as their seed.
    """
    if not claim.has_sides or not (claim.test or "seed" in rows or not _is_meant(rows)):
        return None
    given: Mapping[str, Any] = claim.arguments
    of, minus = (given[name] for name in SIDES[claim.quantity])
    if not claim.test and "seed" in rows:
        seeds = [set(selected(rows, side)["seed"]) for side in (of, minus)]
        if seeds[0] & seeds[1]:
            return None
    value: Any = QUANTITIES[claim.quantity].value(given)
    over, log = given.get("over", ()), claim.quantity == "log_ratio"
    return (
        values_of(rows, of, value, over, log=log),
        values_of(rows, minus, value, over, log=log),
    )


def evidence_on_sides(claim: Claim, sides: Sides, expectation: Expectation) -> Evidence:
    """The evidence in runs that are not paired, with a note that says so."""
    of, minus = (side.to_numpy(float) for side in sides)
    found = unpaired_evidence(of, minus, expectation, claim.test or WELCH)
    test = "permutation test" if claim.test == PERMUTATION or found.spread == 0 else "Welch's test"
    told = f"unpaired: {len(of)} runs against {len(minus)}"
    told += f", {'permutation test of ranks' if found.infinite else test}"
    if found.infinite:
        told += f"; the number is infinite in {found.infinite} runs"
    if missing := int(np.isnan([*of, *minus]).sum()):
        told += f"; {missing} runs have no number"
    return replace(found, left_out=told)
