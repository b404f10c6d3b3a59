from small_theory import small_parts


def test_failures_slow_linear_consensus_down_and_no_more(tmp_path):
    linear = small_parts(tmp_path)["failures"].query("p == 1")
    assert (linear["residual"] < 1e-6).all()
    slower = linear[linear["n"] == 5]
    assert (slower["residual"].clip(lower=1e-60) >= slower["without"]).all()
    assert (slower["residual"] > 1e10 * slower["without"]).any()
