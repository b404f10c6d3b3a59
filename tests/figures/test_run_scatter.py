"""V against accuracy with a marker for each run."""

import pytest
from made_up import BOTH, SEEDS, levels

from ngo.analysis.curves import scores
from ngo.figures import plots
from ngo.figures.run_scatter import scatter
from verdicts.rows.evaluations import final

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_markers_tell_methods_and_topologies_apart():
    axis = plots.new_figure(2).subplots()
    scatter(axis, final(scores(levels())))
    assert sum(len(line.get_xdata()) for line in axis.lines) == 2 * 3 * len(SEEDS)
    looks = {(line.get_marker(), line.get_fillstyle()) for line in axis.lines}
    assert len(looks) == len(BOTH) * 3
    assert not axis.texts


def test_diverged_runs_are_counted():
    figure = plots.new_figure(2)
    axis = figure.subplots()
    scatter(axis, final(scores(levels(lambda seed: seed == 1))))
    assert [text.get_text() for text in axis.texts] == ["× 1 of 18 diverged"]
    figure.canvas.draw()
