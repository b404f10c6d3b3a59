"""The figure and table of prices, from made-up runs."""

import pytest
from figure_files import drawn, made
from made_up_prices import CASES, prices

from ngo.common.registry import UserError

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

NETWORK = {"far": {"latency": 0.5, "bandwidth": 2000, "step": 0}}


def test_the_figure_and_the_table_are_saved(tmp_path):
    inputs = {"network": NETWORK, "target_accuracy": 0.55}
    output = made("price", tmp_path, metrics=prices(), **inputs)
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


def test_a_panel_for_the_bytes_and_one_for_each_network():
    near = {"latency": 0, "bandwidth": 1e9, "step": 1}
    networks = {"far": NETWORK["far"], "near": near}
    figure, _ = drawn("price", prices(), networks, 0.55)
    assert [axis.get_title() for axis in figure.axes] == [
        "(a) mnist, shards: bytes",
        "(b) mnist, shards: far",
        "(c) mnist, shards: near",
        "",
    ]
    assert all(len(axis.get_lines()) == len(CASES) for axis in figure.axes[:3])


def test_a_config_without_a_network_is_refused():
    with pytest.raises(UserError, match="network: the config names none"):
        drawn("price", prices(), {}, 0.5)
