"""Runs by coupling and number of gradient steps for a consensus step."""

import pytest
from made_up import metrics, periods, run

from ngo.analysis.periods import periods as by_period
from ngo.analysis.periods import with_coupling
from ngo.common.registry import UserError


def test_couplings_are_named_whatever_the_method():
    rows = metrics(
        run(0.5, method="gossip"),
        run(0.5, method="gossip", gamma=1),
        run(0.5, method="ngo", gamma=1),
        run(0.5, method="local_sgd", p=1.0, local_steps=5),
        run(0.5, method="local_sgd", p=0.9, local_steps=5),
        run(0.5, method="local_sgd", p=1.0, gamma=1, local_steps=5),
        run(0.5, method="centralized", local_steps=None),
    )
    found = with_coupling(rows).drop_duplicates("run")
    assert found["coupling"].tolist() == [
        "gossip", "averaging", "ngo", "gossip", "ngo", "averaging", "centralized",
    ]  # fmt: skip
    assert found["local_steps"].tolist() == [1, 1, 1, 5, 5, 5, 1]


def test_accuracy_at_the_end_and_at_equal_bytes():
    found = by_period(periods())
    key = ["partition", "coupling", "local_steps", "value"]
    ends, equal = (table.set_index(key)["mean"] for table in (found.ends, found.equal))
    assert ends["iid", "gossip", 1, "accuracy"] == pytest.approx(60)
    # The budget is a fifth of what gossip sends: two fifths of the way from 10 to 70 %.
    assert equal["iid", "gossip", 1, "accuracy"] == pytest.approx(34)
    assert equal["iid", "averaging", 5, "accuracy"] == pytest.approx(40)
    assert len(found.course) == 2 * 8 * 2 * 3


def test_runs_that_differ_otherwise_are_no_seeds():
    twice = metrics(run(0.5, method="ngo"), run(0.5, method="ngo", workers=4))
    with pytest.raises(UserError, match="gamma, local_steps and seed alone"):
        by_period(twice)
