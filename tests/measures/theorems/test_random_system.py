from small_theory import small_parts


def test_two_workers_swap_with_weights_of_one(tmp_path):
    rows = small_parts(tmp_path)["random"]
    printed = rows[(rows["form"] == "printed") & (rows["p"] == 1)]
    assert (printed[printed["n"] == 2]["residual"] - 1).abs().max() < 1e-9
    assert printed[printed["n"] == 5]["residual"].min() > 1e3
    amended = rows[(rows["form"] == "amended") & (rows["p"] == 1)]
    assert amended["residual"].max() < 1e-6
    assert len(rows) == 2 * 2 * 2 * 2  # n, draws, forms, exponents
