"""Figure 4: nonlinearity."""

import math

import pytest
from figure_files import drawn
from made_up import exponents, labels, line, panel

from ngo.analysis.curves import part

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


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
