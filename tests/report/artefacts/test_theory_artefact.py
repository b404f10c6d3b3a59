"""Measured values against theory: the figure and its numbers."""

import pandas as pd
from small_theory import small_rows

from ngo.report.artefacts import theory


def measured():
    return pd.concat([small_rows(kind).assign(kind=kind) for kind in (*theory.KINDS, "sums")])


def test_the_figure_is_made_from_a_file(tmp_path):
    measured().to_parquet(tmp_path / "metrics.parquet")
    made = theory.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/theory.png"
    saved = pd.read_csv(tmp_path / "figures/theory.csv")
    assert set(saved["tier"]) == {"test"}
    assert set(saved["kind"]) == set(theory.KINDS)


def test_the_figure_has_a_panel_and_the_data_of_each_kind():
    numbers = theory.numbers(measured())
    assert not numbers.isna().all().any()
    figure = theory.draw(numbers)
    assert len(figure.axes) == 4
    assert [len(axis.get_legend().get_texts()) for axis in figure.axes] == [3, 3, 3, 1]
    times = next(line for line in figure.axes[0].lines if "printed" in line.get_label())
    bounds = small_rows("bounds")
    assert times.get_ydata().tolist() == (bounds["measured"] / bounds["paper"]).tolist()
    gaps = figure.axes[2]
    assert [len(line.get_xdata()) for line in gaps.lines] == [8] * 6  # one graph, one start
