"""Throughput of the engine and its speed-up."""

import pandas as pd
import pytest
from figure_files import drawn, made, opened
from made_up_speed import throughputs

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

FACTS = {
    "dataset": "digits", "seed": 0, "model": "mnist_cnn", "batch_size": 16, "topology": "ring",
    "cores": 2, "steps": 5,
}  # fmt: skip


def test_the_panels_show_medians_and_their_speed_up():
    figure, _ = drawn("throughput", throughputs())
    left, right = figure.axes
    assert left.containers[1].lines[0].get_ydata().tolist() == [10, 20, 40]
    for container in right.containers:
        assert container.lines[0].get_ydata().tolist() == [1, 2, 4]
    assert [label.get_text() for label in right.get_xticklabels()] == ["1", "2", "4"]
    assert right.get_title() == "speed-up over one worker"


def test_the_figure_is_made_from_a_file(tmp_path):
    output = made("throughput", tmp_path, metrics=throughputs().assign(**FACTS))
    assert output.picture == tmp_path / "figures/throughput.png"
    shown = pd.read_csv(tmp_path / "figures/throughput.csv")
    assert set(shown["tier"]) == {"test"}


def test_medians_and_range_are_over_the_repeats():
    found = opened("throughput").module.speedups(throughputs()).set_index(["method", "workers"])
    assert found.loc[("gossip", 4), ["median", "low", "high"]].tolist() == [80, 40, 120]
    assert found.loc["ngo", "base"].tolist() == [10, 10, 10]
    assert found.loc["gossip", "base"].tolist() == [20, 20, 20]
