import pytest
from small_theory import asked, holds, small_rows


def test_the_factor_of_a_step_is_attained_and_never_passed():
    decays = small_rows("decays")
    two = decays[decays["n"] == 2].set_index("gamma")
    assert two.loc[0.5, "measured"] == pytest.approx(0.5)  # λ₂ = 1
    ring = decays[(decays["topology"] == "ring") & (decays["n"] == 5)].set_index("gamma")
    assert ring.loc[0.5, "limit"] == pytest.approx(1 - (1 - 0.30901699) / 3)
    assert ring.loc[0.5, "measured"] == pytest.approx(ring.loc[0.5, "limit"])
    assert (decays["measured"] <= decays["limit"] + 1e-9).all()


def test_a_slower_decay_is_seen():
    assert holds("theory_linear_decay", "decays")
    rows = [
        {"gamma": 0.1, "measured": 0.9, "limit": 0.9},
        {"gamma": 0.1, "measured": 0.9001, "limit": 0.9},
    ]
    found = asked("theory_linear_decay", "decays", rows)
    assert found["met"].tolist() == [True, False]
