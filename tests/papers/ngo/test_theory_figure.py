"""Theory compared with measurement."""

from dataclasses import replace
from functools import cache

import pandas as pd
from figure_files import drawn
from small_theory import OPTIONS

from ngo.theorems.theorem import PARTS

KINDS = ("bounds", "delays", "gaps", "floors")


FEW = replace(
    OPTIONS, draws=1, delay_rounds=60, floor_dimension=2, steps=40, repeats=2, sgd_distance=(2.0,)
)


@cache
def rows(kind):
    return PARTS[kind].table(FEW)


def test_the_figure_has_a_panel_and_the_data_of_each_kind():
    figure, numbers = drawn(
        "theory", pd.concat([rows(kind).assign(kind=kind) for kind in (*KINDS, "sums")])
    )
    assert not numbers.isna().all().any()
    assert len(figure.axes) == 4
    assert [len(axis.get_legend().get_texts()) for axis in figure.axes] == [3, 3, 3, 1]
    times = next(line for line in figure.axes[0].lines if "printed" in line.get_label())
    bounds = rows("bounds")
    assert times.get_ydata().tolist() == (bounds["measured"] / bounds["paper"]).tolist()
    gaps = figure.axes[2]
    assert [len(line.get_xdata()) for line in gaps.lines] == [8] * 6  # one graph, one start
