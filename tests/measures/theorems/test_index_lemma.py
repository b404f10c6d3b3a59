from small_theory import small_parts


def test_the_two_forms_of_beta_give_far_apart_bounds(tmp_path):
    spreads = small_parts(tmp_path)["spreads"]
    assert spreads["T"].min() == 2
    assert (spreads["V"] > 0).all()
    last = spreads[spreads["T"] == 200].set_index(["form", "gamma"])
    small = last["V"] / last["limit"]
    assert small["amended", 0.5] < 0.1 * small["printed", 0.5]
    assert (small["amended"] < 1).all()
