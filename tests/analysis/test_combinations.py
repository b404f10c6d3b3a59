"""Each method with each way to mix, from made-up runs."""

import numpy as np
from made_up_combinations import combinations

from ngo.analysis.combinations import combination_table, with_parts


def test_a_method_is_its_correction_and_local_rule():
    parts = with_parts(combinations())[["method", "local_rule", "p", "algorithm", "mixer"]]
    found = {tuple(row)[3:] for row in parts.dropna().itertuples(index=False, name=None)}
    methods = ("sgd", "momentum", "d2")
    assert found == {(method, mixer) for method in methods for mixer in ("linear", "NGO", "capped")}
    both = with_parts(combinations().assign(local_rule="momentum"))
    assert set(both["algorithm"]) == {"momentum", "d2 + momentum", "centralized + momentum"}


def test_each_is_at_its_best_and_compared_with_linear_gossip():
    table = combination_table(combinations()).set_index(["algorithm", "mixer"])
    assert (table.loc[("sgd", "linear"), ["gamma", "p", "lr"]] == [0.4, 1, 0.05]).all()
    assert np.isclose(table.loc[("momentum", "linear"), "accuracy"], 71.5)
    gains = table["gain"].dropna()
    assert np.allclose(gains[("sgd", "NGO")], 3)
    assert np.allclose(gains[("momentum", "capped")], 5)
    assert np.allclose(gains[("d2", "capped")], 0)
    assert len(gains) == 6
    assert (table["diverged"] == 0).all()


def test_a_value_at_which_a_run_diverged_comes_last():
    table = combination_table(combinations(diverged={("sgd", "capped", 0.4)}))
    table = table.set_index(["algorithm", "mixer"])
    assert table.loc[("sgd", "capped"), "gamma"] == 0.2
    assert table.loc[("sgd", "capped"), "diverged"] == 0
    assert table.loc[("sgd", "NGO"), "gamma"] == 0.4


def test_training_without_a_topology_has_a_row():
    table = combination_table(combinations())
    (row,) = table[table["algorithm"] == "centralized"].to_dict("records")
    assert row["accuracy"] == 80
    assert np.isnan(row["gain"])
