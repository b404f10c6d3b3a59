"""Means over seeds as curves and markers."""

import math

import pandas as pd
import pytest
from made_up import pictures
from made_up import seeds_of as rows
from matplotlib.markers import CARETDOWNBASE

from ngo import plots
from ngo.analysis.seed_means import along, points
from ngo.plots import curves
from ngo.plots.style import METHOD_STYLES

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def marks(axis):
    """The x values of the marks of diverged runs, by row; their key stands in the panel."""
    assert axis.texts[-1].get_text() == "× diverged"
    return [list(line.get_xdata()) for line in axis.lines if line.get_marker() == "x"]


def drawn(draw, frames, x, name="V"):
    """A panel of the means over seeds along ``x``, by ``curves.dots`` or ``curves.lines``."""
    table = points(pd.concat(frames), ["method", x], [name])
    axis = plots.new_figure(2).subplots()
    draw(axis, curves.by_method(table), x, name)
    return axis


def test_what_is_left_of_diverged_runs_does_not_stretch_the_axis():
    frames = [rows([1.0, 2.0, 3.0], diverged=d).assign(gamma=g) for g, d in ((0.1, []), (1, [0]))]
    frames[1]["V"] *= 1e40
    assert drawn(curves.dots, frames, "gamma").get_ylim()[1] < 1e3


def test_no_line_leads_to_what_is_left_of_diverged_runs():
    lost = {1: [0], 2: [], 3: []}
    frames = [rows([1.0, 2.0], diverged=d, name="accuracy").assign(p=p) for p, d in lost.items()]
    means = list(drawn(curves.dots, frames, "p", "accuracy").containers[0].lines[0].get_ydata())
    assert means == pytest.approx([math.nan, 1.5, 1.5], nan_ok=True)


def test_a_course_fills_its_panel_from_the_second_evaluation_on():
    course = [(0, 10), (5, 90), (10, 92)]
    frames = [rows([y, y + 1.0], name="accuracy").assign(epoch=x) for x, y in course]
    assert drawn(curves.lines, frames, "epoch", "accuracy").get_ylim()[0] > 80


def edge_marks(axis):
    """The numbers at the edges of a panel."""
    before = {*axis.texts}
    plots.mark_outside(axis)
    return [text.get_text() for text in axis.texts if text not in before]


def test_a_mean_beyond_the_axis_has_a_mark_at_its_edge():
    frames = [rows([v, v]).assign(epoch=x) for x, v in ((0, 0), (1, 1), (2, 0.1), (3, 1e-30))]
    axis = drawn(curves.lines, frames, "epoch")
    assert edge_marks(axis) == ["1e−30"]
    marked = [line for line in axis.lines if line.get_marker() == CARETDOWNBASE]
    low, high = axis.get_xlim()
    assert [(*line.get_xdata(), *line.get_ydata()) for line in marked] == [
        (pytest.approx((3 - low) / (high - low)), 0)
    ]


@pytest.mark.parametrize(("name", "collapsed"), [("accuracy", 15.0), ("difference", -45.0)])
def test_a_collapse_of_the_runs_that_are_left_is_on_the_axis_hollow_and_counted(name, collapsed):
    after = {1: ([60.0] * 10, []), 5: ([collapsed] * 10, [0])}
    frames = [rows(v, diverged=d, name=name).assign(delay=x) for x, (v, d) in after.items()]
    axis = drawn(curves.dots, frames, "delay", name)
    assert axis.get_ylim()[0] < collapsed
    hollow = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_ydata()) for line in hollow] == [[collapsed]]
    assert [text.get_text() for text in axis.texts] == ["1 of 10", "× diverged"]
    assert edge_marks(axis) == []


def test_what_is_left_of_diverged_runs_is_marked_at_the_edge_of_a_log_axis():
    frames = [rows([v] * 3, diverged=d).assign(delay=x) for x, v, d in ((1, 2, []), (5, 5306, [0]))]
    axis = drawn(curves.dots, frames, "delay")
    assert edge_marks(axis) == ["5310"]
    assert axis.lines[-1].get_markerfacecolor() == "white"


def test_markers_show_where_runs_diverged():
    frames = [rows([1.0, 2.0, 3.0], diverged=d).assign(gamma=g) for g, d in ((0.1, []), (1, [0]))]
    table = points(pd.concat(frames), ["method", "gamma"], ["V"])
    figure = plots.new_figure(2)
    axis = figure.subplots()
    plots.value_ticks(axis, [0.1, 1], base=10)
    curves.dots(axis, curves.by_method(table), "gamma", "V")
    assert marks(axis) == [[1]]
    low, high = axis.get_xlim()
    assert low < 0.1 < 1 < high < 3
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0.1", "1"]
    figure.canvas.draw()


@pytest.mark.parametrize("name", ["V", "accuracy"])
def test_only_diverged_runs_still_make_a_figure(name):
    table = points(rows([math.nan] * 2, diverged=[0, 1], name=name), ["method"], [name])
    figure = plots.new_figure(2)
    axes = figure.subplots(1, 2)
    curves.lines(axes[0], curves.by_method(table.assign(step=3)), "step", name)
    curves.dots(axes[1], curves.by_method(table.assign(step=3)), "step", name)
    assert [marks(axis) for axis in axes] == [[[3]], [[3]]]
    figure.canvas.draw()


def test_limits_hold_the_means_and_a_percentage_its_range():
    table = pd.concat(
        [rows([3.0, 50.0, 99.0], name="accuracy").assign(step=k) for k in (0, 1)], ignore_index=True
    )
    table = points(table, ["method", "step"], ["accuracy"])
    axis = plots.new_figure(4.8, 6.4).subplots()
    curves.dots(axis, curves.by_method(table), "step", "accuracy")
    low, high = axis.get_ylim()
    assert -2 <= low < 51 < high <= 102
    assert table["low"].unique() == [0]
    assert table["high"].unique() == [100]


def test_the_line_of_the_runs_left_is_thin():
    course = [
        {"run": f"r{seed}", "method": "ngo", "seed": seed, "step": 10 * k, "V": V,
         "diverged": math.isnan(V)}
        for seed, values in enumerate(([0, 2, math.nan], [0, 2, 3, 5]))
        for k, V in enumerate(values)
    ]  # fmt: skip
    table = along(pd.DataFrame(course), ["method"], "step", ["V"])
    figure = plots.new_figure(2)
    axis = figure.subplots()
    curves.lines(axis, curves.by_method(table), "step", "V")
    whole, left = axis.lines[:2]
    assert list(whole.get_ydata()) == pytest.approx([0, 2])
    assert list(left.get_ydata()) == pytest.approx([3, 5])
    assert left.get_linewidth() < whole.get_linewidth()
    assert marks(axis) == [[20]]
    figure.canvas.draw()


def test_a_variant_has_the_colour_of_its_case_and_the_line_of_its_value():
    methods = {"gossip": ["star", "ring"], "ngo": ["ring"], "centralized": [None]}
    table = pd.DataFrame(
        [
            {"method": name, "topology": graph}
            for name, graphs in methods.items()
            for graph in graphs
        ]
    )
    cases = curves.variants(curves.by_method(table), "topology", "{} on {}", ("complete", "ring"))
    looks = {look.label: look for look, _ in cases}
    assert list(looks) == ["centralized", "gossip on ring", "gossip on star", "NGO on ring"]
    assert looks["centralized"] == METHOD_STYLES["centralized"]
    ring, star, other = list(looks.values())[1:]
    assert ring.colour == star.colour == METHOD_STYLES["gossip"].colour != other.colour
    assert (ring.line, ring.marker) == (other.line, other.marker) != (star.line, star.marker)
    assert all(set(rows["topology"].dropna()) <= {look.label.split()[-1]} for look, rows in cases)


def test_a_panel_has_the_labels_that_are_given():
    course = rows([1.0, 2.0], name="accuracy").assign(epoch=1)
    table = points(course, ["method", "epoch"], ["accuracy"])
    axes = plots.new_figure(2).subplots(1, 2)
    for axis, draw in zip(axes, (curves.lines, curves.dots), strict=True):
        draw(axis, curves.by_method(table), "epoch", "accuracy", title="a", xlabel="b")
        labels = axis.get_title(), axis.get_xlabel(), axis.get_ylabel()
        assert labels == ("a", "b", curves.LABELS["accuracy"])


def test_images_have_their_channels_last():
    table = pictures(2, (3, 4, 5), steps=(3,))
    actual = curves.images(curves.pixel_rows(table), "generation", 1)
    assert actual.shape == (3, 4, 5, 3)
    where = (table["kind"] == "generation") & (table["worker"] == 1) & (table["image"] == 2)
    pixel = table[where & (table["row"] == 3) & (table["column"] == 1) & (table["channel"] == 2)]
    assert actual[2, 3, 1, 2] == pixel["value"].item()
