"""Figure 2: alignment of gradients."""

import pandas as pd
import pytest
from made_up import aligned

from ngo.common.registry import UserError
from ngo.report.artefacts import fig2

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig2_shows_means_over_seeds_against_v():
    figure = fig2.draw(aligned())
    direction, length = figure.axes
    workers, mean = (container.lines[0] for container in direction.containers)
    assert workers.get_xdata().tolist() == pytest.approx([0, 2**0.5, 4 * 2**0.5])
    assert workers.get_ydata().tolist() == pytest.approx([1.01, 0.51, 1 / 3 + 0.01])
    assert mean.get_ydata().tolist() == pytest.approx([0.99, 0.49, 1 / 3 - 0.01])
    assert direction.lines[0].get_xdata() == pytest.approx([2**0.5] * 2)  # as trained
    assert length.containers[0].lines[0].get_ydata().tolist() == pytest.approx([1, 2, 3])
    assert direction.get_title() == "direction: digits, gossip, ring"


def test_fig2_takes_no_runs_that_differ_otherwise_for_seeds():
    with pytest.raises(UserError, match="dataset, method, topology and seed alone.* r0, r1;"):
        fig2.draw(aligned().assign(seed=0))


@pytest.mark.parametrize("diverged", [(1,), (0, 1)])
def test_fig2_counts_the_runs_that_diverged(diverged):
    figure = fig2.draw(aligned(diverged=diverged))
    assert figure.axes[0].texts[0].get_text() == f"× {len(diverged)} of 2 runs diverged"
    figure.canvas.draw()


def test_the_figure_is_made_from_a_file(tmp_path):
    aligned().assign(samples=200).to_parquet(tmp_path / "metrics.parquet")
    made = fig2.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/fig2.png"
    shown = pd.read_csv(tmp_path / "figures/fig2.csv")
    assert set(shown["tier"]) == {"test"}
