"""Making figures and saving them."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from ngo.figures import plots

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_panels_have_rows_and_columns_even_if_there_is_one():
    for rows, columns in ((1, 1), (2, 3)):
        figure, axes = plots.panels(3, rows, columns, width=5, sharey=True)
        assert axes.shape == (rows, columns)
        assert figure.get_size_inches().tolist() == [5, 3]


def test_a_log_axis_has_plain_numbers_and_leaves_zero_out():
    figure = plots.new_figure(4)
    axis = figure.subplots()
    plots.log_axis(axis.yaxis)
    axis.plot([0, 1, 2], [0, 2, 30])
    figure.canvas.draw()
    labels = {text.get_text() for text in axis.get_yticklabels(which="both")}
    assert {"2", "5", "10", "20"} <= labels
    assert axis.get_ylim()[0] > 0.5


def test_small_numbers_on_a_log_axis_have_a_whole_exponent():
    figure = plots.new_figure(4)
    axis = figure.subplots()
    plots.log_axis(axis.yaxis)
    axis.plot([1, 2], [2e-4, 3e-3])
    figure.canvas.draw()
    labels = {text.get_text() for text in axis.get_yticklabels(which="both")}
    shown = {r"$\mathdefault{2\times10^{-4}}$", r"$\mathdefault{5\times10^{-4}}$", "0.001", "0.002"}
    assert labels >= shown


def test_a_legend_names_each_case_once_within_the_figure():
    figure = plots.new_figure(2, 4)
    axes = figure.subplots(1, 2)
    for axis in axes:
        for name in ("a rather long label", "another long label", "a third one of these"):
            axis.plot([0, 1], [0, 1], label=name)
    plots.legend(figure, *axes)
    figure.canvas.draw()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 3
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_a_caption_stays_within_the_figure():
    figure = plots.new_figure(2, 4)
    figure.subplots()
    plots.caption(figure, "Many words.", "", "of what was made " * 20, "Last.")
    figure.canvas.draw()
    text = figure._supxlabel
    assert "Many words. of what" in text.get_text()
    assert text.get_window_extent().x1 <= figure.bbox.x1


def test_value_ticks_are_the_values_alone():
    axis = plots.new_figure(2).subplots()
    plots.value_ticks(axis, [0.1, 1])
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0.1", "1"]
    assert axis.get_xscale() == "log"


def test_a_tick_too_near_to_a_label_has_none():
    axis = plots.new_figure(2).subplots()
    plots.value_ticks(axis, [0.01, 0.05, 0.2, 0.4, 0.7, 1])
    assert len(axis.get_xticks()) == 6
    labels = [label.get_text() for label in axis.get_xticklabels()]
    assert labels == ["0.01", "0.05", "0.2", "0.4", "", "1"]
    plots.value_ticks(axis, [])
    assert len(axis.get_xticks()) == 0


def test_shared_limits_hold_all_panels():
    axes = plots.new_figure(2).subplots(1, 2)
    axes[0].set_ylim(0, 1)
    axes[1].set_ylim(-1, 0.5)
    plots.share_limits(*axes)
    assert axes[0].get_ylim() == axes[1].get_ylim() == (-1, 1)


def test_titles_have_letters():
    axes = plots.new_figure(2).subplots(1, 2)
    plots.titles(axes, "one", "two")
    assert [axis.get_title() for axis in axes] == ["(a) one", "(b) two"]


def test_a_figure_is_saved_with_its_data_in_the_same_bytes_each_time(tmp_path):
    shown = pd.DataFrame({"step": [0, 1, 2], "mean": [0.0, 1 / 3, np.nan]})
    for name in ("a", "b"):
        figure = plots.new_figure(2)
        figure.subplots().plot(shown["step"], shown["mean"], label="mean")
        plots.legend(figure, *figure.axes)
        plots.caption(figure, "Tier test.")
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
