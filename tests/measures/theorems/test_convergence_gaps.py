import pytest
from small_theory import small_parts


def test_gaps_shrink_and_bounds_hold(tmp_path):
    gaps = small_parts(tmp_path)["gaps"]
    assert gaps["method"].unique().tolist() == ["centralized", "gossip", "ngo"]
    runs = list(gaps.groupby(["method", "topology", "distance"]))
    assert len(runs) == (1 + 2 + 2) * 2
    for _, group in runs:
        assert group["T"].iloc[[0, -1]].tolist() == [1, 300]
        assert group["gap"].iloc[-1] < 0.1 * group["gap"].iloc[0]
        assert (group["printed"] <= group["bound"]).all()
        assert (group["gap"] <= group["bound"]).all()
    last = gaps[(gaps["T"] == 300) & (gaps["distance"] == 2)].set_index(["topology", "method"])
    V = last["V"]
    assert V["", "centralized"] < 1e-20 < V["ring", "ngo"] < V["ring", "gossip"]


def test_the_bound_as_printed_does_not_grow_with_the_distance_of_the_start(tmp_path):
    gaps = small_parts(tmp_path)["gaps"]
    first = gaps[(gaps["T"] == 1) & (gaps["method"] == "gossip")].groupby("distance")
    (near, far), (near_printed, far_printed) = first["gap"].max(), first["printed"].max()
    assert far == pytest.approx(100 * near)  # the gap is quadratic in the distance
    assert far > far_printed
    assert near < near_printed or near_printed < first["bound"].max().iloc[0]
