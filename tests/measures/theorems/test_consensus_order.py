from small_theory import small_parts


def test_each_start_has_a_time_for_each_p(tmp_path):
    orders = small_parts(tmp_path)["orders"]
    times = orders.pivot(index="seed", columns="p", values="time")
    assert times.shape == (4, 3)
    assert (times[1] < times[2]).all()
    assert times[1].nunique() == 4


def test_a_smaller_p_may_be_slower_from_a_distant_start(tmp_path):
    """The coupling is bounded for p = 1/2: of four starts, one of them is slower than linear."""
    times = small_parts(tmp_path)["orders"].pivot(index="seed", columns="p", values="time")
    assert (times[0.5] > times[1]).tolist() == [True, False, False, False]
