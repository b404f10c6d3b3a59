"""Statements on SGD: each quantity with data that meet it and data that do not."""

import numpy as np
import pandas as pd
import pytest

from ngo.common.registry import UserError
from verdicts.quantity import QUANTITIES


def asked(name, rows, kind, **arguments):
    return QUANTITIES[name].function(pd.DataFrame(rows).assign(kind=kind), **arguments)


def gaps(method="gossip", **columns):
    steps = {"T": [1, 10, 100, 1000], "gap": [5.0, 0.5, 0.05, 0.001], "V": 0.1}
    known = {"topology": "ring", "distance": 3.0, "method": method, "n": 5}
    return pd.DataFrame({**known, **steps, "bound": 6.0, "printed": 4.0, **columns})


def test_a_bound_is_judged_in_its_form_and_from_its_least_t():
    asked_for = {"method": "gossip", "form": "printed"}
    assert asked("theory_bound", gaps(), "gaps", **asked_for)["met"].tolist() == [
        False, True, True, True
    ]  # fmt: skip
    assert asked("theory_bound", gaps(), "gaps", method="gossip", form="amended")["met"].all()
    late = asked("theory_bound", gaps(printed=0.01), "gaps", **asked_for, least_T=100)
    assert late["met"].tolist() == [False, True]
    with pytest.raises(UserError, match="^form: 'print' is not allowed; it must be printed or am"):
        asked("theory_bound", gaps(), "gaps", method="gossip", form="print")
    with pytest.raises(UserError, match="^cases: the theory table has no row"):
        asked("theory_bound", gaps(), "gaps", method="ngo", form="printed")


def test_a_centralized_run_has_no_topology():
    rows = gaps("centralized", topology="")
    found = asked("theory_bound", rows, "gaps", method="centralized", form="amended")
    assert found["case"].iloc[0] == "distance 3, T 1"


def test_v_must_be_zero_and_the_gap_must_fall():
    assert not asked("theory_index_vanishes", gaps("ngo"), "gaps")["met"].any()
    assert asked("theory_index_vanishes", gaps("ngo", V=0.0), "gaps")["met"].all()
    rows = pd.concat([gaps("ngo"), gaps(gap=[5.0, 1, 0.5, 0.3]), gaps("centralized", gap=1.0)])
    found = asked("theory_convergence", rows, "gaps").set_index("case")["met"]
    assert found.to_dict() == {
        "method gossip, topology ring, distance 3": False,
        "method ngo, topology ring, distance 3": True,
    }


def test_a_wrong_sum_of_weights_is_seen():
    row = {"a": 16.0, "T": 10, "summed": 4245.0, "closed": 4245.0, "least": 333.3}
    assert asked("theory_weight_sum", [row], "sums")["met"].tolist() == [True, True]
    wrong = {**row, "closed": 4246.0, "least": 5000.0}
    assert asked("theory_weight_sum", [wrong], "sums")["met"].tolist() == [False, False]


def test_the_lemmas_have_two_forms_each():
    rows = [
        {"form": form, "n": 2, "eta_L": 0.1, "left": 1.01, "right": right}
        for form, right in (("printed", 1.0), ("supplement", 1.1))
    ]
    assert not asked("theory_descent_lemma", rows, "descents", form="printed")["met"].any()
    assert asked("theory_descent_lemma", rows, "descents", form="supplement")["met"].all()
    rows = [
        {"form": form, "gamma": 0.1, "T": 9, "V": 2.0, "limit": limit}
        for form, limit in (("printed", 1.0), ("amended", 100.0))
    ]
    assert not asked("theory_index_lemma", rows, "spreads", form="printed")["met"].any()
    assert asked("theory_index_lemma", rows, "spreads", form="amended")["met"].all()


def test_the_slope_of_a_seed_is_its_power_of_n():
    rows = [
        {"seed": seed, "n": n, "gap": 3 * n**power}
        for seed, power in ((4, -1.0), (5, -0.5))
        for n in (2, 4, 16)
    ]
    slopes = asked("theory_speedup_slope", rows, "speedup")
    assert slopes.to_dict() == pytest.approx({4: -1, 5: -0.5})
    with pytest.raises(UserError, match="^speedup_workers: a slope needs two numbers"):
        asked("theory_speedup_slope", rows[:1], "speedup")


def races(**of):
    """Gaps by method at the last T; those of an earlier T are all 1."""
    return [
        {"method": method, "seed": 3, "T": T, "gap": gap if T == 9 else 1.0,
         "noise_term": 1.0, "sync_term": of.get("sync_term", 0.01)}
        for method, gap in of.items() if method != "sync_term"
        for T in (1, 9)
    ]  # fmt: skip


def test_gaps_are_compared_within_a_seed_at_the_last_t():
    rows = races(centralized=1.0, synchronized=1.2, gossip=2.0, ngo=1.0)
    assert asked("theory_gap_ratio", rows, "races").to_dict() == pytest.approx({3: -np.log(2)})
    near = asked("theory_synchronized_gap", rows, "races")
    assert near.to_dict() == pytest.approx({3: np.log(1.2)})


def test_gossip_that_is_not_synchronized_decides_nothing():
    rows = races(centralized=1.0, synchronized=1.2, sync_term=0.2)
    assert asked("theory_synchronized_gap", rows, "races").isna().all()
