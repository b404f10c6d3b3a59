import pandas as pd
import pytest
from small_theory import asked, holds, small_rows

from ngo.common.registry import UserError


def test_gaps_shrink_and_bounds_hold():
    gaps = small_rows("gaps")
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


def test_the_bound_as_printed_does_not_grow_with_the_distance_of_the_start():
    gaps = small_rows("gaps")
    first = gaps[(gaps["T"] == 1) & (gaps["method"] == "gossip")].groupby("distance")
    (near, far), (near_printed, far_printed) = first["gap"].max(), first["printed"].max()
    assert far == pytest.approx(100 * near)  # the gap is quadratic in the distance
    assert far > far_printed
    assert near < near_printed or near_printed < first["bound"].max().iloc[0]


def gaps(method="gossip", **columns):
    steps = {"T": [1, 10, 100, 1000], "gap": [5.0, 0.5, 0.05, 0.001], "V": 0.1}
    known = {"topology": "ring", "distance": 3.0, "method": method, "n": 5}
    return pd.DataFrame({**known, **steps, "bound": 6.0, "printed": 4.0, **columns})


def test_a_bound_is_judged_in_its_form_and_from_its_least_t():
    asked_for = {"method": "gossip", "form": "printed"}
    assert asked("theory_bound", "gaps", gaps(), **asked_for)["met"].tolist() == [
        False, True, True, True
    ]  # fmt: skip
    assert asked("theory_bound", "gaps", gaps(), method="gossip", form="amended")["met"].all()
    late = asked("theory_bound", "gaps", gaps(printed=0.01), **asked_for, least_T=100)
    assert late["met"].tolist() == [False, True]
    with pytest.raises(UserError, match="^form: 'print' is unknown; allowed: amended, printed"):
        asked("theory_bound", "gaps", gaps(), method="gossip", form="print")
    with pytest.raises(UserError, match="^cases: no row is left"):
        asked("theory_bound", "gaps", gaps(), method="ngo", form="printed")


def test_a_centralized_run_has_no_topology():
    rows = gaps("centralized", topology="")
    found = asked("theory_bound", "gaps", rows, method="centralized", form="amended")
    assert found["case"].iloc[0] == "distance 3, T 1"


def test_v_must_be_zero_and_the_gap_must_fall():
    assert not asked("theory_index_vanishes", "gaps", gaps("ngo"))["met"].any()
    assert asked("theory_index_vanishes", "gaps", gaps("ngo", V=0.0))["met"].all()
    rows = pd.concat([gaps("ngo"), gaps(gap=[5.0, 1, 0.5, 0.3]), gaps("centralized", gap=1.0)])
    found = asked("theory_convergence", "gaps", rows).set_index("case")["met"]
    assert found.to_dict() == {
        "method gossip, topology ring, distance 3": False,
        "method ngo, topology ring, distance 3": True,
    }


def test_the_printed_bounds_without_the_distance_fail_and_v_does_not_vanish():
    for method in ("centralized", "gossip"):
        assert not holds("theory_bound", "gaps", method=method, form="printed")
        assert holds("theory_bound", "gaps", method=method, form="amended")
    for form in ("printed", "amended"):
        assert holds("theory_bound", "gaps", method="ngo", form=form, least_T=100)
    assert not holds("theory_index_vanishes", "gaps")
    assert holds("theory_convergence", "gaps")


def test_a_spoilt_measurement_changes_its_own_verdicts_alone():
    table = small_rows("gaps")
    gossip = (table["method"] == "gossip") & (table["T"] > 1)
    spoilt = table.assign(gap=table["gap"].where(~gossip, 1000 * table["gap"]))

    def met(name, **arguments):
        return asked(name, "gaps", spoilt, **arguments)["met"].all()

    assert not met("theory_bound", method="gossip", form="amended")
    assert not met("theory_convergence")
    assert met("theory_bound", method="centralized", form="amended")
    assert met("theory_bound", method="ngo", form="amended", least_T=100)
