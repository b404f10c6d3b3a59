import numpy as np
import pytest
from small_theory import asked, small_rows

from ngo.common.registry import UserError


def test_each_start_has_a_time_for_each_p():
    orders = small_rows("orders")
    times = orders.pivot(index="seed", columns="p", values="time")
    assert times.shape == (4, 3)
    assert (times[1] < times[2]).all()
    assert times[1].nunique() == 4


def test_a_smaller_p_may_be_slower_from_a_distant_start():
    """The coupling is bounded for p = 1/2: of four starts, one of them is slower than linear."""
    times = small_rows("orders").pivot(index="seed", columns="p", values="time")
    assert (times[0.5] > times[1]).tolist() == [True, False, False, False]


def orders(*times):
    return [
        {"seed": seed, "p": p, "time": time}
        for seed, each in enumerate(times)
        for p, time in zip((0.5, 1.0, 2.0), each, strict=True)
    ]


def test_each_start_must_keep_the_order():
    found = asked("theory_order", "orders", orders((1, 2, 3), (2, 1, 3), (1, 4, 3)))
    assert found["met"].tolist() == [True, False, False]
    assert found["measured"].tolist() == pytest.approx([2 / 3, 2, 4 / 3])


def test_the_lead_of_a_start_is_a_log_ratio():
    rows = orders((1, 2, 3), (2, 1, 3))
    lead = asked("theory_order_lead", "orders", rows, first=0.5, then=1)
    assert lead.tolist() == pytest.approx([np.log(2), -np.log(2)])
    assert lead.index.tolist() == [0, 1]
    with pytest.raises(UserError, match=r"^then: p = 3 was not measured; .* one of 0.5, 1, 2\.$"):
        asked("theory_order_lead", "orders", rows, first=0.5, then=3)


def test_one_start_of_four_breaks_the_order():
    found = asked("theory_order", "orders", small_rows("orders"))
    assert found["met"].tolist() == [False, True, True, True]
