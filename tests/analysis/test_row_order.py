"""The order of rows in the paper's tables."""

import pandas as pd

from ngo.analysis.row_order import ordered


def test_iid_and_centralized_come_first_and_others_last():
    cells = [
        ("iid", None, "centralized"),
        ("iid", "ring", "gossip"),
        ("iid", "ring", "ngo"),
        ("iid", "random", "gossip"),
        ("iid", "complete", "gossip"),
        ("iid", "complete", "mine"),
        ("shards", "ring", "gossip"),
    ]
    rows = pd.DataFrame(cells, columns=["partition", "topology", "method"])
    rows = rows.assign(dataset="mnist")
    found = ordered(rows.iloc[::-1].reset_index(drop=True))
    assert found[["partition", "method"]].values.tolist() == [[c[0], c[2]] for c in cells]
