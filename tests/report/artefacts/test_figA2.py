"""Figure A2: steps to two targets."""

import pandas as pd
import pytest
from made_up import line, panel
from made_up_speed import speeding_up

from ngo.analysis.steps_to_target import speedup_means, steps_to_targets
from ngo.report.artefacts import figA2

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

TARGETS = {"early": 50, "late": 80}


def test_the_panels_show_steps_and_speed_up():
    figure = figA2.draw(speedup_means(steps_to_targets(speeding_up(), TARGETS)))
    x, y = line(panel(figure, "steps to a target"), "NGO, early target")
    assert x == [1, 2]
    assert y == pytest.approx([50, 12.5])
    _, y = line(panel(figure, "speed-up, gossip"), "gossip, late target")
    assert y == pytest.approx([1, 2])
    _, y = line(panel(figure, "speed-up, NGO"), "linear")
    assert y == [1, 2]


def test_the_figure_says_what_never_got_there(tmp_path):
    runs = speeding_up()
    runs.to_parquet(tmp_path / "metrics.parquet")
    made = figA2.make(
        tmp_path / "metrics.parquet",
        early_accuracy=50,
        late_accuracy=99.5,
        tier="test",
        out=tmp_path,
    )
    assert made.picture == tmp_path / "figures/figA2.png"
    shown = pd.read_csv(tmp_path / "figures/figA2.csv")
    late = shown[shown["target"] == "late"]
    assert late["reached"].tolist() == [0] * len(late)
    assert late["speedup"].isna().all()
    assert set(shown["tier"]) == {"test"}
