"""Numbers that gates ask for: whether runs are in the regime that a claim is about."""

from __future__ import annotations

from ngo.common.registry import UserError, nearest
from ngo.common.types import Numbers, Table
from verdicts.quantity_registry import quantity
from verdicts.rows.selection import Column


@quantity("log_quotient", unit="log ratio", example="{of: sync_term, to: noise_term}")
def log_quotient(rows: Table, of: Column, to: Column) -> Numbers:
    """The largest log of one column over another, by seed: two terms of a bound, for example."""
    import numpy as np

    for name in (of, to):
        if name not in rows:
            raise UserError(f"with: there is no column {name!r}.{nearest(name, rows)}")
    with np.errstate(divide="ignore"):
        return np.log(rows[of] / rows[to]).groupby(rows["seed"]).max()


@quantity("log_floor_to_V", unit="log ratio")
def log_floor_to_V(rows: Table) -> Numbers:
    """Log of the predicted chatter floor of V, at the p with the highest, over V of p = 1, by seed.

    The rows are runs at one γ. Above 0, chatter hides what p does to V (Figure 4). Runs of p = 1
    that diverged are inf: they have no V to compare with.
    """
    import numpy as np

    from ngo.analysis.chatter import chatter_floor
    from verdicts.rows.run_values import per_run

    runs = per_run(rows, "V")
    if runs["gamma"].nunique() != 1:
        raise UserError("gamma: the floor of V is compared at one γ; select one.")
    linear = runs[runs["p"] == 1].groupby("seed")["value"].mean()
    floors = [chatter_floor(same)["mean"] for _, same in runs[runs["p"] < 1].groupby("p")]
    values = [float(floor.iloc[0]) for floor in floors if len(floor)]
    if linear.empty or not values:
        raise UserError("p: the floor of V is compared with p = 1 on a fixed graph; none was run.")
    with np.errstate(divide="ignore"):
        ratio = np.log(max(values)) - np.log(linear)
    return ratio.mask(np.isinf(linear), np.inf)
