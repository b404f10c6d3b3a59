"""Training with late messages."""

import pytest
from made_up_graphs import delays

from ngo.analysis.delayed_training import delayed_training, with_delay


def test_gossip_and_ngo_are_the_delay_zero():
    rows = with_delay(delays())
    cases = rows[["method", "p", "delay"]].drop_duplicates()
    assert sorted(cases.itertuples(index=False, name=None)) == [
        ("gossip", 1.0, 0), ("gossip", 1.0, 1), ("gossip", 1.0, 5),
        ("ngo", 0.9, 0), ("ngo", 0.9, 1), ("ngo", 0.9, 5),
    ]  # fmt: skip


def test_the_difference_is_paired_by_seed_at_each_delay():
    found = delayed_training(delays())
    gain = found.gain.set_index("delay")
    assert gain["mean"].to_dict() == pytest.approx({0: 0, 1: 2, 5: 10}, abs=1e-9)
    V = found.ends[found.ends["value"] == "V"].set_index(["method", "delay"])["mean"]
    assert V["ngo", 5] == pytest.approx(6)
    lost = delayed_training(delays(lambda seed: seed == 1)).gain.set_index("delay")
    assert lost["diverged"].to_dict() == {0: 0, 1: 1, 5: 1}
