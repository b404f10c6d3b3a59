from small_theory import small_parts


def test_a_sublinear_coupling_tolerates_less_delay_than_the_theorem_says(tmp_path):
    delays = small_parts(tmp_path)["delays"]
    sublinear = delays[delays["p"] < 1]
    assert (sublinear["tolerated"] < 0.7 * sublinear["limit_of_rounds"]).all()


def test_a_linear_coupling_tolerates_the_limit_to_a_round(tmp_path):
    delays = small_parts(tmp_path)["delays"]
    linear = delays[delays["p"] == 1]
    off = (linear["tolerated"] - linear["limit_of_rounds"]).abs()
    assert (off <= linear["gamma"]).all()
    assert (linear["residual"] < 1e-6).all()
