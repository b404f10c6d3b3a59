import math

import pytest
from measured_runs import evaluations, table

from ngo.analysis.quantities.budgets import difference_at_bytes
from ngo.common.registry import UserError

EVERY = {"protocol": "ngo"}
RARE = {"protocol": "local_sgd"}


def runs(*, seed=0, lost=False, u=0.2):
    """NGO sends 1,000 bytes a step, local SGD 200; both run for 100 steps."""
    ngo = [{"step": s, "accuracy": a, "bytes": 1000 * s}
           for s, a in ((0, 0.1), (10, 0.3), (100, 0.9))]  # fmt: skip
    local = [{"step": s, "accuracy": a, "bytes": 200 * s} for s, a in ((0, 0.1), (100, 0.6))]
    return (
        evaluations(ngo, seed=seed, protocol="ngo", u=u, diverged=lost),
        evaluations(local, seed=seed, protocol="local_sgd", u=u),
    )


def test_accuracy_is_compared_at_the_bytes_of_the_more_frugal_run():
    # 20,000 bytes: step 20 of NGO, at 30 + 60/9 %, and the end of local SGD, at 60 %.
    found = difference_at_bytes(table(*runs()), EVERY, RARE)
    assert found[0] == pytest.approx(30 + 60 / 9 - 60)


def test_a_share_of_the_budget():
    # 10,000 bytes: step 10 of NGO, at 30 %, and step 50 of local SGD, at 35 %.
    assert difference_at_bytes(table(*runs()), EVERY, RARE, share=0.5)[0] == pytest.approx(-5)
    with pytest.raises(UserError, match="share: 2 is not allowed"):
        difference_at_bytes(table(*runs()), EVERY, RARE, share=2)


def test_divergence_counts_against_its_protocol():
    assert difference_at_bytes(table(*runs(lost=True)), EVERY, RARE)[0] == -math.inf
    assert difference_at_bytes(table(*runs(lost=True)), RARE, EVERY)[0] == math.inf


def test_pairs_are_averaged_within_a_seed():
    rows = table(*runs(u=0.2), *runs(u=0.4), *runs(seed=1, u=0.2), runs(seed=1, u=0.4)[0])
    found = difference_at_bytes(rows, EVERY, RARE, over=["u"], share=0.5)
    assert found[0] == pytest.approx(-5)
    assert math.isnan(found[1])
