"""The figure of late messages in training."""

import pandas as pd
import pytest
from made_up import line, panel
from made_up_graphs import delays

from ngo.report.artefacts import delay

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_both_couplings_stand_at_their_delays():
    figure, shown = delay.draw(delays())
    accuracy = panel(figure, "digits, shards, ring")
    assert line(accuracy, "gossip") == ([0, 1, 5], pytest.approx([40, 40, 40]))
    assert line(accuracy, "NGO") == ([0, 1, 5], pytest.approx([40, 42, 50]))
    assert line(panel(figure, "paired by seed"), "NGO")[1] == pytest.approx([0, 2, 10], abs=1e-9)
    assert set(shown["value"]) == {"accuracy", "V", "difference"}


def test_each_topology_has_a_row():
    runs = delays()
    more = runs.assign(topology="complete", run=runs["run"] + "-complete")
    figure, _ = delay.draw(pd.concat([runs, more], ignore_index=True))
    assert len(figure.axes) == 6
    assert panel(figure, "digits, shards, complete")


def test_the_figure_is_made_from_a_file(tmp_path):
    delays().to_parquet(tmp_path / "metrics.parquet")
    made = delay.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/delay.png"
    assert set(pd.read_csv(tmp_path / "figures/delay.csv")["tier"]) == {"test"}
