"""Tables of methods, as printed."""

import pandas as pd
from made_up import TABLE1, TABLE_A1, cell

from ngo.analysis import comparisons
from ngo.analysis.criteria import ACCURACY, HITTING_TIME, TEST_LOSS
from ngo.analysis.hitting_times import with_first_hitting
from ngo.figures import comparison_tables


def test_digits_are_each_criterions_own():
    rows = cell(None, "centralized", [0.9]) + cell("ring", "ngo", [0.8], diverged=[0])
    runs = with_first_hitting(pd.DataFrame(rows), {"iid": 0.5})
    table = comparisons.comparison_table(runs, TABLE_A1, [TEST_LOSS, HITTING_TIME])
    printed = comparison_tables.print_comparison(table)
    assert printed["Measure"].tolist() == ["test loss"] * 2 + ["first hitting time (epochs)"] * 2
    assert printed["Consensus"].tolist() == ["0.100", "–", "1.50", "inf"]
    assert printed["Paper"].tolist() == ["0.26", "0.25", "–", "48"]
    assert printed["Diverged"].tolist() == ["0 of 1", "1 of 1"] * 2
    assert "Measure" not in comparison_tables.print_comparison(table[:2])


def test_methods_are_saved(tmp_path):
    runs = pd.DataFrame(
        cell("ring", "gossip", [0.62, 0.61, 0.63]) + cell("ring", "ngo", [0.65, 0.64, 0.661])
    )
    stem = f"{tmp_path}/t"
    printed = comparison_tables.save_comparison(
        runs, TABLE1, [ACCURACY], "test", stem, "A caption."
    )
    assert printed["NGO − gossip"].tolist() == ["–", "+3.03 ± 0.14"]
    assert set(pd.read_csv(f"{stem}.csv")["tier"]) == {"test"}
    assert (tmp_path / "t.md").read_text().startswith("A caption.\n\n| Data")
    assert len(list(tmp_path.iterdir())) == 4
