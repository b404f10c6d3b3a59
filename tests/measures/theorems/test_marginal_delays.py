from small_theory import small_parts


def test_v_neither_vanishes_nor_grows_at_the_limit(tmp_path):
    marginal = small_parts(tmp_path)["marginal"]
    at = marginal[marginal["share"] == 1]["residual"]
    assert at.between(0.5, 2).all()
    assert marginal[marginal["share"] < 1]["residual"].max() < 1e-6
