import pytest

from ngo.common.registry import UserError
from ngo.measures.consensus import ConsensusOptions, consensus_table


def test_the_table_keeps_every_state():
    options = ConsensusOptions(p=(0.5, 1, 2), gamma=0.02, rounds=100)
    part = consensus_table(options).query("p == 0.5")
    assert len(part) == 101 * 10
    assert part[["delay", "topology", "workers", "gamma"]].iloc[0].tolist() == [0, "ring", 10, 0.02]
    first = part[part["round"] == 0]
    assert first["V"].nunique() == 1
    assert ((first["x"] - first["x"].mean()) ** 2).sum() == pytest.approx(first["V"].iloc[0])


def test_all_cases_have_the_same_initial_state_and_random_graphs():
    options = ConsensusOptions(topology="random", workers=4, p=(1, 0.9), delay=(0, 2), rounds=3)
    table = consensus_table(options)
    start = [group["x"].tolist() for _, group in table[table["round"] == 0].groupby(["p", "delay"])]
    assert start == 4 * [start[0]]
    assert table.equals(consensus_table(options))
    # With no difference yet between states, delayed and undelayed rounds begin alike.
    first = table[table["round"] == 1].pivot(index=["p", "worker"], columns="delay", values="x")
    assert first[0].tolist() == first[2].tolist()


def test_a_trajectory_that_is_too_large_is_refused():
    with pytest.raises(UserError, match="^rounds: workers × rounds is 2,000,000,000; it must be"):
        ConsensusOptions(workers=2000, rounds=1_000_000)
