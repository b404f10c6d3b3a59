"""Tables of methods, as printed."""

import numpy as np
import pandas as pd
from made_up import TABLE_A1, cell

from ngo.analysis.comparisons import HITTING_TIME, TEST_LOSS, comparison_table
from ngo.plots.comparisons import print_comparison, with_edge


def test_digits_are_each_criterions_own():
    rows = cell(None, "centralized", [0.9]) + cell("ring", "ngo", [0.8], diverged=[0])
    runs = pd.DataFrame(rows).assign(first_hitting=[np.inf, 1.5, np.inf, np.inf])
    table = comparison_table(runs, TABLE_A1, [TEST_LOSS, HITTING_TIME])
    printed = print_comparison(table)
    assert printed["Measure"].tolist() == ["test loss"] * 2 + ["first hitting time (epochs)"] * 2
    assert printed["Consensus"].tolist() == ["0.100", "–", "1.50", "∞"]
    assert printed["Paper"].tolist() == ["0.26", "0.25", "–", "48"]
    assert printed["Diverged"].tolist() == ["", "1 of 1"] * 2
    assert "Measure" not in print_comparison(table[:2])
    assert "Diverged" not in print_comparison(table[:1])


def test_a_value_at_an_edge_of_the_grid_says_so():
    assert with_edge(0.2, "smallest") == "0.2 (smallest)"
    assert [with_edge(0.2, None), with_edge(np.nan, np.nan)] == ["0.2", "–"]
