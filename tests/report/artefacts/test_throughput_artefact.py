"""Throughput of the engine and its speed-up."""

import pandas as pd
import pytest
from made_up_speed import throughputs

from ngo.report.artefacts import throughput

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

FACTS = {
    "dataset": "digits", "seed": 0, "model": "mnist_cnn", "batch_size": 16, "topology": "ring",
    "cores": 2, "steps": 5,
}  # fmt: skip


def test_the_panels_show_medians_and_their_speed_up():
    left, right = throughput.draw(throughputs()).axes
    assert left.containers[1].lines[0].get_ydata().tolist() == [10, 20, 40]
    for container in right.containers:
        assert container.lines[0].get_ydata().tolist() == [1, 2, 4]
    assert [label.get_text() for label in right.get_xticklabels()] == ["1", "2", "4"]
    assert right.get_title() == "speed-up over one worker"


def test_the_figure_is_made_from_a_file(tmp_path):
    throughputs().assign(**FACTS).to_parquet(tmp_path / "metrics.parquet")
    made = throughput.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/throughput.png"
    shown = pd.read_csv(tmp_path / "figures/throughput.csv")
    assert set(shown["tier"]) == {"test"}
