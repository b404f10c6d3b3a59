"""The table and figure of methods and couplings, from made-up runs."""

import pandas as pd
import pytest
from made_up_combinations import combinations

from ngo.report.artefacts import methods

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_the_figure_and_the_table_are_saved(tmp_path):
    combinations().to_parquet(tmp_path / "mnist.parquet")
    other = combinations().assign(dataset="cifar10")
    other.assign(run=other["run"] + "-10").to_parquet(tmp_path / "cifar10.parquet")
    files = {name: tmp_path / f"{name}.parquet" for name in ("mnist", "cifar10")}
    output = methods.make(**files, tier="test", out=tmp_path)
    assert output.picture.stat().st_size > 10_000
    (printed,) = output.tables
    rows = printed[printed["Data"] == "mnist"].set_index(["Algorithm", "Mixing"])
    assert rows.loc[("momentum", "capped"), "Gain"].startswith("+5.00")
    assert rows.loc[("momentum", "linear"), ["Gain", "Best γ"]].tolist() == ["–", "0.4 of 0.2, 0.4"]
    assert rows.loc[("centralized", "–"), ["Best p", "Sent"]].tolist() == ["–", "1.0 MB"]
    saved = pd.read_csv(tmp_path / "tables/methods.csv")
    assert len(saved) == len(printed) == 20
