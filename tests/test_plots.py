"""The style of figures, and means over seeds as curves and markers."""

import math
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from ngo import curves, plots


@pytest.fixture(autouse=True)
def style():
    plots.house_style()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    plt.close("all")


def rows(values, *, diverged=(), name="V"):
    """One evaluation of each of some seeds."""
    seeds = range(len(values))
    return pd.DataFrame(
        {
            "run": [f"r{seed}" for seed in seeds],
            "seed": seeds,
            "protocol": "ngo",
            name: values,
            "diverged": [seed in diverged for seed in seeds],
        }
    )


def course(V_of_seeds, step=10):
    """Evaluations of a run for each seed: V after 0, ``step``, 2 ``step`` …; NaN ends a run."""
    table = []
    for seed, values in enumerate(V_of_seeds):
        for k, V in enumerate(values):
            table.append(
                {"run": f"r{seed}", "protocol": "ngo", "seed": seed, "step": k * (step + seed),
                 "V": V, "diverged": math.isnan(V)}
            )  # fmt: skip
    return pd.DataFrame(table)


def test_points_against_a_t_table():
    found = curves.points(rows([1.0, 2.0, 3.0], name="accuracy"), ["protocol"], ["accuracy"])
    point = found.iloc[0]
    half = 4.302653 / math.sqrt(3)  # t(0.975, 2)
    assert (point["mean"], point["seeds"], point["diverged"]) == (2, 3, 0)
    assert [point["low"], point["high"]] == pytest.approx([2 - half, 2 + half], rel=1e-6)


def test_v_has_its_geometric_mean():
    point = curves.points(rows([1.0, 100.0]), ["protocol"], ["V"]).iloc[0]
    assert point["mean"] == pytest.approx(10)
    assert point["low"] * point["high"] == pytest.approx(100)
    assert point["low"] > 0


def test_a_diverged_run_is_counted_and_not_averaged():
    values = rows([1.0, math.inf, math.nan, 4.0], diverged=[3])
    point = curves.points(values, ["protocol"], ["V"]).iloc[0]
    assert (point["mean"], point["seeds"], point["diverged"]) == (1, 1, 3)


def test_evaluations_are_matched_by_their_number():
    table = curves.along(course([[0, 2, 4], [0, 8, 16]]), ["protocol"], "step", ["V"])
    assert table["step"].tolist() == [0, 10.5, 21]  # seeds own unequal numbers of samples
    assert table["mean"].tolist() == pytest.approx([0, 4, 8])


def test_a_run_that_ended_stays_diverged():
    table = curves.along(course([[0, 2, math.nan], [0, 2, 3, 5]]), ["protocol"], "step", ["V"])
    assert table["diverged"].tolist() == [0, 0, 1, 1]
    assert table["mean"].tolist() == pytest.approx([0, 2, 3, 5])
    figure, axis = plt.subplots()
    curves.lines(axis, curves.by_protocol(table), "step", "V")
    whole, left = axis.lines[:2]
    assert list(whole.get_ydata()) == pytest.approx([0, 2])
    assert list(left.get_ydata()) == pytest.approx([3, 5])
    assert left.get_linewidth() < whole.get_linewidth()
    assert [text.get_text() for text in axis.texts] == ["1 of 2 diverged"]
    figure.canvas.draw()


def test_markers_show_how_many_diverged_at_each_value():
    frames = [rows([1.0, 2.0, 3.0], diverged=d).assign(gamma=g) for g, d in ((0.1, []), (1, [0]))]
    table = curves.points(pd.concat(frames), ["protocol", "gamma"], ["V"])
    figure, axis = plt.subplots()
    plots.value_ticks(axis, [0.1, 1])
    curves.dots(axis, curves.by_protocol(table), "gamma", "V")
    assert [text.get_text() for text in axis.texts] == ["1 of 3 diverged"]
    low, high = axis.get_xlim()
    assert low < 0.1 < 1 < high < 3
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0.1", "1"]
    figure.canvas.draw()


@pytest.mark.parametrize("name", ["V", "accuracy"])
def test_only_diverged_runs_still_make_a_figure(name):
    table = curves.points(rows([math.nan] * 2, diverged=[0, 1], name=name), ["protocol"], [name])
    figure, axes = plt.subplots(1, 2)
    curves.lines(axes[0], curves.by_protocol(table.assign(step=3)), "step", name)
    curves.dots(axes[1], curves.by_protocol(table.assign(step=3)), "step", name)
    assert {text.get_text() for axis in axes for text in axis.texts} == {"2 of 2 diverged"}
    figure.canvas.draw()


def test_limits_hold_the_means_and_a_percentage_its_range():
    table = pd.concat(
        [rows([3.0, 99.0], name="accuracy").assign(step=k) for k in (0, 1)], ignore_index=True
    )
    table = curves.points(table, ["protocol", "step"], ["accuracy"])
    _, axis = plt.subplots()
    curves.dots(axis, curves.by_protocol(table), "step", "accuracy")
    low, high = axis.get_ylim()
    assert -2 <= low < 51 < high <= 102
    assert table["low"].min() < -100  # two seeds: the interval itself would hide the means


def test_protocols_are_told_apart_without_colour():
    looks = {(look.line, look.marker) for look in plots.PROTOCOL_STYLES.values()}
    assert len(looks) == len(plots.PROTOCOL_STYLES)
    assert len({look.line for look in plots.PROTOCOL_STYLES.values()}) == len(looks)


def test_a_protocol_without_a_style_of_its_own_is_shown_too():
    table = pd.DataFrame({"protocol": ["mine", "ngo"], "x": [1, 2]})
    assert [look.label for look, _ in curves.by_protocol(table)] == ["NGO", "mine"]


def test_a_log_axis_has_plain_numbers_and_leaves_zero_out():
    figure, axis = plt.subplots()
    plots.log_axis(axis.yaxis)
    axis.plot([0, 1, 2], [0, 2, 30])
    figure.canvas.draw()
    labels = {text.get_text() for text in axis.get_yticklabels(which="both")}
    assert {"2", "5", "10", "20"} <= labels
    assert axis.get_ylim()[0] > 0.5


def test_a_legend_names_each_case_once_within_the_figure():
    figure, axes = plt.subplots(1, 2, figsize=(4, 2))
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
    figure, _ = plt.subplots(figsize=(4, 2))
    plots.caption(figure, "Many words.", "", "of what was made " * 20, "Last.")
    figure.canvas.draw()
    text = figure._supxlabel
    assert "Many words. of what" in text.get_text()
    assert text.get_window_extent().x1 <= figure.bbox.x1


def test_figures_are_the_same_bytes_each_time(tmp_path):
    shown = course([[0, 2, 4], [0, 8, math.nan]])
    table = curves.along(shown, ["protocol"], "step", ["V"])
    for name in ("a", "b"):
        figure, axis = plt.subplots()
        curves.lines(axis, curves.by_protocol(table), "step", "V")
        plots.legend(figure, axis)
        plots.caption(figure, "Tier test.")
        plots.save_figure(figure, tmp_path / name / "fig", table)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["fig.csv", "fig.pdf", "fig.png"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    back = pd.read_csv(tmp_path / "a/fig.csv")
    np.testing.assert_allclose(back["mean"], table["mean"])
