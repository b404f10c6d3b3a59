"""Theory beside measurement."""

import pandas as pd
from figure_files import drawn, made
from small_theory import small_parts, small_table


def test_the_figure_has_a_panel_and_the_data_of_each_kind(tmp_path):
    figure, _ = drawn("theory", small_table())
    measured = small_parts(tmp_path)
    assert len(figure.axes) == 4
    assert [len(axis.get_legend().get_texts()) for axis in figure.axes] == [3, 3, 3, 1]
    times = next(line for line in figure.axes[0].lines if "printed" in line.get_label())
    ratios = measured["bounds"]["measured"] / measured["bounds"]["paper"]
    assert times.get_ydata().tolist() == ratios.tolist()
    gaps = figure.axes[2]
    assert [len(line.get_xdata()) for line in gaps.lines] == [8] * 6  # one graph, one start


def test_the_figure_is_made_from_a_file(tmp_path):
    output = made("theory", tmp_path, metrics=small_table())
    assert output.picture == tmp_path / "figures/theory.png"
    shown = pd.read_csv(tmp_path / "figures/theory.csv")
    assert set(shown["tier"]) == {"test"}
    assert len(shown) == len(small_table())
