"""The order of rows in the paper's tables."""

from __future__ import annotations

import pandas as pd

TOPOLOGY_ORDER = ("ring", "random", "complete")
METHOD_ORDER = ("centralized", "gossip", "ngo")


def ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` in the order of the paper's tables: iid first, centralized first, ring to complete.

    ``rows`` have the columns ``apart.CELL``.
    """
    ranks = rows.assign(
        _noniid=rows["partition"] != "iid",
        _topology=rows["topology"].map({t: k for k, t in enumerate(TOPOLOGY_ORDER)}).fillna(-1),
        _method=rows["method"].map({p: k for k, p in enumerate(METHOD_ORDER)}),
    )
    order = ranks.sort_values(["dataset", "_noniid", "_topology", "_method"], kind="stable")
    return rows.loc[order.index].reset_index(drop=True)
