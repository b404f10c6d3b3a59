import pytest
from small_theory import asked, holds, small_rows


def test_the_limit_is_that_of_the_largest_eigenvalue():
    degrees = small_rows("degrees")
    ring = degrees[(degrees["topology"] == "ring") & (degrees["n"] == 5)]
    unit = ring[ring["weights"] == "unit"].set_index("share")
    assert unit["gamma"].tolist() == pytest.approx([0.25, 0.45, 0.75])  # two neighbours
    assert unit["limit"].iloc[0] == pytest.approx(2 / (2 - 2 * -0.80901699))
    assert unit.loc[1.5, "residual"] > 1e10
    assert (degrees[degrees["share"] < 1]["residual"] < 1e-6).all()
    diverged = degrees["residual"] > 1
    assert (diverged <= (degrees["gamma"] > degrees["limit"])).all()


def test_only_gammas_below_the_limit_are_claimed():
    rows = [
        {"weights": "unit", "share": share, "residual": residual}
        for share, residual in ((0.5, 1e-9), (0.9, 1e-3), (1.5, 1e9))
    ]
    assert asked("theory_degree_limit", "degrees", rows)["met"].tolist() == [True, False]


def test_it_holds():
    assert holds("theory_degree_limit", "degrees")
