"""The grid of p and γ."""

import math

from made_up import exponents
from ngo.analysis.nonlinearity import nonlinearity


def test_each_p_has_its_own_best_gamma_by_held_out_accuracy():
    found = nonlinearity(exponents())
    assert found.best.set_index("p")["gamma"].to_dict() == {1.0: 0.3, 0.9: 0.3, 0.7: 0.1}
    assert len(found.ends) == 2 * 6
    assert set(zip(found.course["p"], found.course["gamma"], strict=True)) == {
        (1.0, 0.3), (0.9, 0.3), (0.7, 0.1)
    }  # fmt: skip


def test_test_accuracy_chooses_nothing():
    found = nonlinearity(exponents().assign(holdout_accuracy=math.nan))
    assert found.best.empty
    assert found.course.empty
