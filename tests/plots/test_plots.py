"""Making figures and saving them."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from ngo import plots

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_a_log_axis_has_plain_numbers_and_leaves_zero_out():
    figure = plots.new_figure(4)
    axis = figure.subplots()
    plots.log_axis(axis.yaxis)
    axis.plot([0, 1, 2], [0, 2, 30])
    figure.canvas.draw()
    labels = {text.get_text() for text in axis.get_yticklabels(which="both")}
    assert {"2", "5", "10", "20"} <= labels
    assert axis.get_ylim()[0] > 0.5


def test_a_figure_is_saved_with_its_data_in_the_same_bytes_each_time(tmp_path):
    shown = pd.DataFrame({"step": [0, 1, 2], "mean": [0.0, 1 / 3, np.nan]})
    for name in ("a", "b"):
        figure = plots.new_figure(2)
        figure.subplots().plot(shown["step"], shown["mean"], label="mean")
        plots.legend(figure, *figure.axes)
        plots.below(figure, "Tier test.")
        picture = plots.save_figure(figure, tmp_path / name / "fig", shown)
        assert picture == tmp_path / name / "fig.png"
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["fig.csv", "fig.pdf", "fig.png"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    with Image.open(tmp_path / "a/fig.png") as picture:
        assert picture.info[plots.DESCRIPTION] == "Tier test."
    back = pd.read_csv(tmp_path / "a/fig.csv")
    np.testing.assert_allclose(back["mean"], shown["mean"])
