import pytest
from small_theory import asked, small_rows

from ngo.common.registry import UserError


def test_more_workers_have_a_smaller_gap():
    gaps = small_rows("speedup").pivot(index="seed", columns="n", values="gap")
    assert gaps.shape == (3, 2)
    assert (gaps[8] < gaps[2]).all()
    assert gaps[2].nunique() == 3


def test_the_slope_of_a_seed_is_its_power_of_n():
    rows = [
        {"seed": seed, "n": n, "gap": 3 * n**power}
        for seed, power in ((4, -1.0), (5, -0.5))
        for n in (2, 4, 16)
    ]
    slopes = asked("theory_speedup_slope", "speedup", rows)
    assert slopes.to_dict() == pytest.approx({4: -1, 5: -0.5})
    with pytest.raises(UserError, match="^speedup_workers: a slope needs two numbers"):
        asked("theory_speedup_slope", "speedup", rows[:1])
