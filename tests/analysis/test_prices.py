"""What accuracy costs, from made-up runs."""

import numpy as np
from made_up_prices import CASES, ROW, N, prices

from ngo.analysis.network_time import NetworkModel
from ngo.analysis.prices import case_names, costs_to, price_curves, priced

NETWORKS = {"near": NetworkModel(0, 1e9, 1), "far": NetworkModel(0.5, 2000, 0)}


def test_a_case_is_named_by_its_parts():
    assert set(case_names(prices())) == set(CASES)
    some = prices().assign(compression="top_k", kept_share=0.05, delay=2)
    assert "NGO, τ = 2, top_k 0.05, ring" in set(case_names(some))


def test_each_case_has_its_costs_at_its_best_gamma():
    found = priced(prices(), NETWORKS)
    assert found["gamma"].dropna().unique().tolist() == [0.4]
    last = found[found["step"] == 100].drop_duplicates("case").set_index("case")
    assert last.loc["linear, ring", "sent_per_worker"] == 8 * 100 * ROW / N
    assert np.isclose(last.loc["linear, ring", "near"], 100, rtol=1e-3)
    assert np.isclose(last.loc["linear, ring", "far"], 100 * (1 + 0.5))
    assert np.isclose(last.loc["centralized", "far"], 100 * (4 + 1))


def test_what_it_costs_to_reach_an_accuracy():
    table = costs_to(priced(prices(), NETWORKS), 55, ["sent_per_worker", "far"]).set_index("case")
    assert np.isinf(table.loc["linear, ring", "far"])
    assert table.loc["linear, ring", ["seeds", "runs"]].tolist() == [0, 3]
    steps = 100 * 55 / 70
    assert np.isclose(table.loc["NGO, ring", "sent_per_worker"], steps * 2 * ROW)
    assert np.isclose(table.loc["NGO, ring", "far"], steps * 1.5)
    assert table.loc["NGO, ring", ["p", "gamma", "seeds"]].tolist() == [0.8, 0.4, 3]


def test_curves_have_a_line_for_each_case():
    curves = price_curves(priced(prices(), NETWORKS), "far")
    ends = curves.groupby("case")[["far", "mean"]].max()
    assert set(ends.index) == set(CASES)
    assert np.isclose(ends.loc["centralized", "mean"], 90)
    assert np.isclose(ends.loc["centralized", "far"], 500)
