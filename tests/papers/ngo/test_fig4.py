"""Figure 4: nonlinearity."""

import math

import pandas as pd
import pytest
from figure_files import drawn, made
from made_up import SEEDS, exponents, labels, line, metrics, panel, run

from ngo.analysis.curves import part

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig4_has_a_line_for_each_gamma_with_markers_at_their_p():
    figure, shown = drawn("fig4", exponents())
    ends = panel(figure, "accuracy by $p$")
    x, y = line(ends, r"$\gamma = 0.1$")
    assert (x, y) == ([0.7, 0.9, 1.0], pytest.approx([60, 50, 50]))
    marker = next(a for a in ends.lines if list(a.get_xdata()) == x)
    assert marker.get_transform() == ends.transData
    assert {"predicted floor of V", "V", "accuracy"} == set(shown["value"])
    looks = [(a.get_linestyle(), a.get_marker()) for a in figure.axes[1].lines]
    assert len(set(looks)) == 3  # told apart without colour


def test_fig4_marks_the_best_gamma_of_each_p():
    figure, _ = drawn("fig4", exponents())
    x, y = line(panel(figure, "accuracy by $p$"), r"best $\gamma$ of $p$")
    assert dict(zip(x, y, strict=True)) == pytest.approx({0.7: 60, 0.9: 60, 1.0: 60})
    courses = labels(panel(figure, r"accuracy at each $p$'s own best $\gamma$"))
    assert courses == [
        r"gossip, $p = 1$, $\gamma = 0.3$",
        r"NGO, $p = 0.9$, $\gamma = 0.3$",
        r"NGO, $p = 0.7$, $\gamma = 0.1$",
    ]


def test_fig4_draws_the_predicted_floor_without_moving_the_axis():
    figure, shown = drawn("fig4", exponents())
    index = panel(figure, "synchronization by $p$")
    floor = shown[shown["value"] == "predicted floor of V"]
    dotted = [a for a in index.lines if a.get_linestyle() == ":" and a.get_marker() == "None"]
    heights = sorted(y for a in dotted for y in a.get_ydata())
    assert len(dotted) == 2  # all other lines of the panel are solid
    assert heights == pytest.approx(sorted(floor["mean"]))
    assert index.get_ylim()[0] > min(heights)


def test_fig4_without_held_out_samples_marks_nothing():
    runs = exponents().drop(columns="holdout_accuracy")
    figure, _ = drawn("fig4", runs)
    assert line(panel(figure, "accuracy by $p$"), r"best $\gamma$ of $p$") == ([], [])
    assert [text.get_text() for text in figure.axes[1].texts] == ["no held-out samples"]
    figure.canvas.draw()


def test_fig4_draws_each_method_and_p():
    """Gossip and NGO at p = 1 too, and centralized learning, which has none."""
    given = (("centralized", math.nan), ("gossip", 1.0), ("ngo", 1.0), ("local_sgd", 0.9))
    runs = (
        run(0.5, method=q, p=p, gamma=math.nan if q == "centralized" else 0.1, seed=s,
            holdout_accuracy=0.5)
        for q, p in given for s in SEEDS
    )  # fmt: skip
    figure, shown = drawn("fig4", metrics(*runs))
    curves = labels(figure.axes[1])
    assert curves[0] == "centralized"
    assert [name.rpartition(",")[0] for name in curves[1:]] == [
        "gossip, $p = 1$", "NGO, $p = 1$", "local SGD, $p = 0.9$"
    ]  # fmt: skip
    assert all(len(line(figure.axes[1], label)[0]) == 3 for label in curves)
    assert set(shown["seeds"].dropna()) == {3}


def test_the_figure_is_made_from_a_file_in_the_same_bytes_each_time(tmp_path):
    for name in ("a", "b"):
        output = made("fig4", tmp_path / name, metrics=exponents())
        assert output.picture == tmp_path / name / "figures/fig4.png"
    for kind in ("csv", "pdf", "png"):
        first, second = (tmp_path / name / f"figures/fig4.{kind}" for name in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()
    shown = pd.read_csv(tmp_path / "a/figures/fig4.csv")
    assert set(shown["tier"]) == {"test"}


def test_each_p_has_its_own_best_gamma_by_held_out_accuracy():
    _, shown = drawn("fig4", exponents())
    ends, course = part(shown, "ends"), part(shown, "course")
    best = ends[ends["best"].astype(bool) & (ends["value"] == "V")]
    assert best.set_index("p")["gamma"].to_dict() == {1.0: 0.3, 0.9: 0.3, 0.7: 0.1}
    assert len(ends) == 2 * 6
    assert set(zip(course["p"], course["gamma"], strict=True)) == {
        (1.0, 0.3), (0.9, 0.3), (0.7, 0.1)
    }  # fmt: skip


def test_test_accuracy_chooses_nothing():
    _, shown = drawn("fig4", exponents().assign(holdout_accuracy=math.nan))
    assert not part(shown, "ends")["best"].any()
    assert part(shown, "course").empty
