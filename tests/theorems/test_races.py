import dataclasses

import numpy as np
import pandas as pd
import pytest
from small_theory import OPTIONS, asked, small_rows

from ngo.theorems.theorem import PARTS


def test_methods_of_a_seed_share_the_problem_and_differ_in_v():
    races = small_rows("races")
    first = races[races["T"] == 1].pivot(index="seed", columns="method", values="gap")
    assert first.shape == (3, 4)
    assert np.allclose(first.max(axis=1), first.min(axis=1))
    last = races[races["T"] == 200].pivot(index="seed", columns="method", values="sync_term")
    assert (last["centralized"] < 1e-20).all()
    assert (last["synchronized"] < last["ngo"]).all()
    assert (last["ngo"] < last["gossip"]).all()


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
    assert asked("theory_gap_ratio", "races", rows).to_dict() == pytest.approx({3: -np.log(2)})
    near = asked("theory_synchronized_gap", "races", rows)
    assert near.to_dict() == pytest.approx({3: np.log(1.2)})


def test_gossip_that_is_not_synchronized_decides_nothing():
    rows = races(centralized=1.0, synchronized=1.2, sync_term=0.2)
    assert asked("theory_synchronized_gap", "races", rows).isna().all()


def test_gossip_is_followed_until_the_terms_have_settled_and_compared_before():
    longer = dataclasses.replace(OPTIONS, trials=1, leading_steps=400)
    rows = PARTS["races"].table(longer)
    ends = rows.groupby("method")["T"].max().to_dict()
    assert ends == {"centralized": 200, "synchronized": 200, "gossip": 400, "ngo": 200}
    short = PARTS["races"].table(dataclasses.replace(OPTIONS, trials=1))
    shared = rows[rows["T"] <= 200].reset_index(drop=True)
    pd.testing.assert_frame_equal(shared, short)
    ratio = asked("theory_gap_ratio", "races", rows)
    pd.testing.assert_series_equal(ratio, asked("theory_gap_ratio", "races", short))
