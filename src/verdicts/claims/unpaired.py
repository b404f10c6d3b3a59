"""Claims about two sides whose runs are not paired: other seeds, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from verdicts.claims.claim import SIDES, Claim
from verdicts.lazy import pd
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError
from verdicts.rows.evaluations import Value
from verdicts.rows.seed_values import by_seed, logs, mean_over
from verdicts.rows.selection import Selection, selected

#: The values of both sides, by seed.
Sides = tuple["pd.Series", "pd.Series"]


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


def _may_be_seed(column: object) -> bool:
    """Whether a column may be meant as the seed: ``Seed``, ``random_seed`` or ``sead``."""
    name = str(column).lower()
    is_short = name[:1] == "s" and len(name) <= 4  # not speed, and not used
    return "seed" in name or bool(is_short and get_close_matches("seed", [name], cutoff=0.75))


def unpaired_sides(claim: Claim, rows: pd.DataFrame) -> Sides | None:
    """Both sides of a claim that names an unpaired test, or whose sides share no seed.

    None if its runs are paired, or if a column may be meant as their seed.
    """
    if not claim.has_sides:
        return None
    given: Mapping[str, Any] = claim.arguments
    sides = [given[name] for name in SIDES[claim.quantity]]
    if not claim.test and "seed" in rows:
        if set.intersection(*(set(selected(rows, side)["seed"]) for side in sides)):
            return None
    elif not claim.test and any(map(_may_be_seed, rows)):
        return None
    value: Any = QUANTITIES[claim.quantity].value(given)
    over, log = given.get("over", ()), claim.quantity == "log_ratio"
    of, minus = (values_of(rows, side, value, over, log=log) for side in sides)
    return of, minus
