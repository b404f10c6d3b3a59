import pytest
from small_theory import small_parts


def test_two_workers_go_round_for_ever_with_a_delay_of_one_round(tmp_path):
    steps = small_parts(tmp_path)["unit_steps"]
    two = steps[steps["n"] == 2].set_index("delay")
    assert two.loc[1, "limit"] == pytest.approx(3.14159265 / 2)  # λ_n = 1: the delay is allowed
    assert two.loc[0, "residual"] < 1e-20
    assert two.loc[1, "residual"] == pytest.approx(1)
