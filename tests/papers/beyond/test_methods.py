"""The table and figure of methods and couplings, from made-up runs."""

import pandas as pd
import pytest
from figure_files import made
from made_up_combinations import combinations

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_the_figure_and_the_table_are_saved(tmp_path):
    other = combinations().assign(dataset="cifar10", run=lambda rows: rows["run"] + "-10")
    output = made("beyond/methods", tmp_path, mnist=combinations(), cifar10=other)
    assert output.picture.stat().st_size > 10_000
    (printed,) = output.tables
    rows = printed[printed["Data"] == "mnist"].set_index(["Algorithm", "Mixing"])
    assert rows.loc[("momentum", "capped"), "Gain"].startswith("+5.00")
    assert rows.loc[("momentum", "linear"), ["Gain", "Best γ"]].tolist() == ["–", "0.4 of 0.2, 0.4"]
    assert rows.loc[("centralized", "–"), ["Best p", "Sent"]].tolist() == ["–", "1.0 MB"]
    saved = pd.read_csv(tmp_path / "tables/methods.csv")
    assert len(saved) == len(printed) == 20
