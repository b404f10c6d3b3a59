"""Figure 2: alignment of gradients."""

import math

import numpy as np
import pandas as pd
import pytest
from figure_files import drawn, made, opened
from made_up import aligned

from ngo.common.registry import UserError

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

fig2 = opened("fig2").module


def test_fig2_shows_means_over_seeds_against_v():
    figure, _ = drawn("fig2", aligned())
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
        drawn("fig2", aligned().assign(seed=0))


@pytest.mark.parametrize("diverged", [(1,), (0, 1)])
def test_fig2_counts_the_runs_that_diverged(diverged):
    figure, _ = drawn("fig2", aligned(diverged=diverged))
    assert figure.axes[0].texts[0].get_text() == f"× {len(diverged)} of 2 runs diverged"
    figure.canvas.draw()


def test_the_figure_is_made_from_a_file(tmp_path):
    output = made("fig2", tmp_path, metrics=aligned().assign(samples=200))
    assert output.picture == tmp_path / "figures/fig2.png"
    shown = pd.read_csv(tmp_path / "figures/fig2.csv")
    assert set(shown["tier"]) == {"test"}


def test_means_are_over_seeds_and_v_is_geometric():
    found = fig2.alignment(aligned(), "cosine", log=False)
    workers, mean = found["workers"], found["mean"]
    assert workers["V"].tolist() == pytest.approx([0, 2**0.5, 4 * 2**0.5])
    assert workers["mean"].tolist() == pytest.approx([1.01, 0.51, 1 / 3 + 0.01])
    assert mean["mean"].tolist() == pytest.approx([0.99, 0.49, 1 / 3 - 0.01])
    assert workers["least"].tolist() == pytest.approx([1, 0.5, 1 / 3])
    assert workers["greatest"].tolist() == pytest.approx([1.02, 0.52, 1 / 3 + 0.02])


def test_lengths_are_averaged_as_logarithms():
    rows = aligned(seeds=3)
    rows["relative_norm"] *= np.choose(rows["seed"], [4, 2, 1])
    found = fig2.alignment(rows, "relative_norm", log=True)
    curve = found["workers"]
    assert curve["mean"].tolist() == pytest.approx([2, 4, 6])
    assert (curve["low"] * curve["high"]).tolist() == pytest.approx([4, 16, 36])


def test_two_seeds_have_no_interval():
    found = fig2.alignment(aligned(seeds=2), "cosine", log=False)
    assert found["workers"][["low", "high"]].isna().all(axis=None)


def test_the_trained_v_is_that_at_scale_1():
    assert fig2.trained_V(aligned()) == pytest.approx(2**0.5)
    assert math.isnan(fig2.trained_V(aligned(diverged=(0, 1))))
