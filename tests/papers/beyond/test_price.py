"""The figure and table of prices, from made-up runs."""

import numpy as np
import pytest
from figure_files import drawn, made, opened
from made_up_prices import CASES, ROW, N, prices

from ngo.analysis.network_time import NetworkModel
from ngo.common.registry import UserError

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

price = opened("beyond/price").module

NETWORKS = {"near": NetworkModel(0, 1e9, 1), "far": NetworkModel(0.5, 2000, 0)}
NETWORK = {"far": {"latency": 0.5, "bandwidth": 2000, "step": 0}}


def test_the_figure_and_the_table_are_saved(tmp_path):
    inputs = {"network": NETWORK, "target_accuracy": 0.55}
    output = made("beyond/price", tmp_path, metrics=prices(), **inputs)
    assert output.picture.stat().st_size > 10_000
    (printed,) = output.tables
    rows = printed.set_index("Case")
    assert set(rows.index) == set(CASES)
    assert rows.loc["NGO, ring", ["MB by a worker", "far, s", "Reached"]].tolist() == [
        "0.157", "118", "3 of 3",
    ]  # fmt: skip
    assert rows.loc["linear, ring", ["MB by a worker", "Reached"]].tolist() == ["–", "0 of 3"]
    caption = (tmp_path / "tables/price_to_target.md").read_text()
    assert "Far: 0.5 s of latency, 0.002 MB/s, 0 s for a gradient step." in caption


def test_a_config_without_a_network_is_refused():
    with pytest.raises(UserError, match="network: the config names none"):
        drawn("beyond/price", prices(), {}, 0.5)


def test_each_case_has_its_costs_at_its_best_gamma():
    found = price.priced(prices(), NETWORKS)
    assert found["gamma"].dropna().unique().tolist() == [0.4]
    last = found[found["step"] == 100].drop_duplicates("case").set_index("case")
    assert last.loc["linear, ring", "sent_per_worker"] == 8 * 100 * ROW / N
    assert np.isclose(last.loc["linear, ring", "near"], 100, rtol=1e-3)
    assert np.isclose(last.loc["linear, ring", "far"], 100 * (1 + 0.5))
    assert np.isclose(last.loc["centralized", "far"], 100 * (4 + 1))


def test_what_it_costs_to_reach_an_accuracy():
    table = price.costs_to(
        price.priced(prices(), NETWORKS), 55, ["sent_per_worker", "far"]
    ).set_index("case")
    assert np.isinf(table.loc["linear, ring", "far"])
    assert table.loc["linear, ring", ["seeds", "runs"]].tolist() == [0, 3]
    steps = 100 * 55 / 70
    assert np.isclose(table.loc["NGO, ring", "sent_per_worker"], steps * 2 * ROW)
    assert np.isclose(table.loc["NGO, ring", "far"], steps * 1.5)
    assert table.loc["NGO, ring", ["p", "gamma", "seeds"]].tolist() == [0.8, 0.4, 3]
