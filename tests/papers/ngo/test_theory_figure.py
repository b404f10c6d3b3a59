"""Theory beside measurement."""

import pandas as pd
import pytest
from figure_files import drawn, made, opened
from small_theory import small_rows


@pytest.fixture(scope="module")
def table():
    """The rows of the kinds that the figure shows, and of one more."""
    kinds = (*opened("theory").module.KINDS, "sums")
    return pd.concat([small_rows(kind).assign(kind=kind) for kind in kinds], ignore_index=True)


def test_the_figure_has_a_panel_and_the_data_of_each_kind(table):
    figure, _ = drawn("theory", table)
    assert len(figure.axes) == 4
    assert [len(axis.get_legend().get_texts()) for axis in figure.axes] == [3, 3, 3, 1]
    times = next(line for line in figure.axes[0].lines if "printed" in line.get_label())
    bounds = small_rows("bounds")
    assert times.get_ydata().tolist() == (bounds["measured"] / bounds["paper"]).tolist()
    gaps = figure.axes[2]
    assert [len(line.get_xdata()) for line in gaps.lines] == [8] * 6  # one graph, one start


def test_the_figure_is_made_from_a_file(table, tmp_path):
    output = made("theory", tmp_path, metrics=table)
    assert output.picture == tmp_path / "figures/theory.png"
    shown = pd.read_csv(tmp_path / "figures/theory.csv")
    assert set(shown["tier"]) == {"test"}
    assert len(shown) == (table["kind"] != "sums").sum()
