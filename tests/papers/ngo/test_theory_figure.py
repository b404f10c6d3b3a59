"""Theory compared with measurement."""

import pandas as pd
from figure_files import drawn, made
from small_theory import small_rows

KINDS = ("bounds", "delays", "gaps", "floors")


def measured():
    return pd.concat([small_rows(kind).assign(kind=kind) for kind in (*KINDS, "sums")])


def test_the_figure_has_a_panel_and_the_data_of_each_kind():
    figure, numbers = drawn("theory", measured())
    assert not numbers.isna().all().any()
    assert len(figure.axes) == 4
    assert [len(axis.get_legend().get_texts()) for axis in figure.axes] == [3, 3, 3, 1]
    times = next(line for line in figure.axes[0].lines if "printed" in line.get_label())
    bounds = small_rows("bounds")
    assert times.get_ydata().tolist() == (bounds["measured"] / bounds["paper"]).tolist()
    gaps = figure.axes[2]
    assert [len(line.get_xdata()) for line in gaps.lines] == [8] * 6  # one graph, one start


def test_the_figure_is_made_from_a_file(tmp_path):
    output = made("theory", tmp_path, metrics=measured())
    assert output.picture == tmp_path / "figures/theory.png"
    shown = pd.read_csv(tmp_path / "figures/theory.csv")
    assert set(shown["tier"]) == {"test"}
    assert set(shown["kind"]) == set(KINDS)
