from small_theory import asked, holds, small_rows


def test_failures_slow_linear_consensus_down_and_no_more():
    linear = small_rows("failures").query("p == 1")
    assert (linear["residual"] < 1e-6).all()
    slower = linear[linear["n"] == 5]
    assert (slower["residual"].clip(lower=1e-60) >= slower["without"]).all()
    assert (slower["residual"] > 1e10 * slower["without"]).any()


def test_linear_consensus_must_vanish_and_sublinear_may_chatter():
    rows = [
        {"p": p, "residual": residual, "without": without}
        for p, residual, without in (
            (1.0, 1e-9, 1e-20), (1.0, 1e-4, 1e-4), (0.9, 1e-4, 1e-4), (0.9, 1e-3, 1e-4)
        )
    ]  # fmt: skip
    found = asked("theory_link_failures", "failures", rows)
    assert found["met"].tolist() == [True, False, True, False]


def test_it_holds():
    assert holds("theory_link_failures", "failures")
