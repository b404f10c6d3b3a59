"""The table and figure of methods and couplings, from made-up runs."""

import pandas as pd
import pytest
from made_up_combinations import combinations

from ngo.analysis.combinations import combination_table
from ngo.report import combinations as panels
from ngo.report.artefacts import disturbed, methods

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_the_figure_and_the_table_are_saved(tmp_path):
    combinations().to_parquet(tmp_path / "mnist.parquet")
    other = combinations().assign(dataset="cifar10")
    other.assign(run=other["run"] + "-10").to_parquet(tmp_path / "cifar10.parquet")
    files = {name: tmp_path / f"{name}.parquet" for name in ("mnist", "cifar10")}
    output = methods.make(**files, tier="test", out=tmp_path)
    assert output.picture.stat().st_size > 10_000
    (printed,) = output.tables
    rows = printed[printed["Data"] == "mnist"].set_index(["Method", "Mixing"])
    assert rows.loc[("momentum", "capped"), "Gain"].startswith("+5.00")
    assert rows.loc[("momentum", "linear"), ["Gain", "Best γ"]].tolist() == ["–", "0.4"]
    assert rows.loc[("centralized", "–"), ["Best p", "Sent"]].tolist() == ["–", "1.0 MB"]
    saved = pd.read_csv(tmp_path / "tables/methods.csv")
    assert len(saved) == len(printed) == 20


def test_each_method_has_a_row_of_markers():
    figure = panels.draw_combinations(combination_table(combinations()))
    left, right = figure.axes
    labels = [label.get_text() for label in left.get_yticklabels()]
    assert sorted(labels) == ["centralized", "d2", "momentum", "sgd"]
    markers = {bars.get_label(): len(bars[0].get_xdata()) for bars in left.containers}
    assert markers == {"linear": 3, "NGO": 3, "capped": 3, "no gossip": 1}
    gains = {bars.get_label(): sorted(map(float, bars[0].get_xdata())) for bars in right.containers}
    assert gains == {"NGO": pytest.approx([0, 3, 3]), "capped": pytest.approx([0, 5, 5])}


def test_training_that_is_disturbed_has_a_row_for_each_disturbance(tmp_path):
    some = combinations().assign(link_failure=0.3)
    runs = pd.concat([combinations(), some.assign(run=some["run"] + "-lossy")])
    runs[runs["local_rule"].eq("sgd")].to_parquet(tmp_path / "runs.parquet")
    output = disturbed.make(tmp_path / "runs.parquet", tier="test", out=tmp_path)
    (printed,) = output.tables
    assert set(printed["Disturbance"]) == {"none", "failing links, 30%"}
    assert (tmp_path / "figures/disturbed.png").stat().st_size > 10_000
