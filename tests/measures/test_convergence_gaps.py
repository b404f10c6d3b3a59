from small_theory import small_parts


def test_gaps_shrink_and_bounds_hold(tmp_path):
    gaps = small_parts(tmp_path)["gaps"]
    assert gaps["protocol"].unique().tolist() == ["centralized", "gossip", "ngo"]
    for _, group in gaps.groupby("protocol"):
        assert group["T"].iloc[[0, -1]].tolist() == [1, 300]
        assert group["gap"].iloc[-1] < 0.1 * group["gap"].iloc[0]
        assert (group["printed"] <= group["bound"]).all()
    last = gaps[gaps["T"] == 300].set_index("protocol")["V"]
    assert last["centralized"] < 1e-20 < last["ngo"] < last["gossip"]
