import math

import pytest
from measured_runs import evaluations, table

from ngo.analysis.quantities.budgets import difference_at_bytes, difference_at_seconds
from ngo.common.registry import UserError

EVERY = {"method": "ngo"}
RARE = {"method": "local_sgd"}


def runs(*, seed=0, lost=False, u=0.2):
    """NGO sends 1,000 bytes a step, local SGD 200; both run for 100 steps."""
    ngo = [{"step": s, "accuracy": a, "bytes": 1000 * s}
           for s, a in ((0, 0.1), (10, 0.3), (100, 0.9))]  # fmt: skip
    local = [{"step": s, "accuracy": a, "bytes": 200 * s} for s, a in ((0, 0.1), (100, 0.6))]
    return (
        evaluations(ngo, seed=seed, method="ngo", u=u, diverged=lost),
        evaluations(local, seed=seed, method="local_sgd", u=u),
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


def test_divergence_counts_against_its_method():
    assert difference_at_bytes(table(*runs(lost=True)), EVERY, RARE)[0] == -math.inf
    assert difference_at_bytes(table(*runs(lost=True)), RARE, EVERY)[0] == math.inf


def test_pairs_are_averaged_within_a_seed():
    rows = table(*runs(u=0.2), *runs(u=0.4), *runs(seed=1, u=0.2), runs(seed=1, u=0.4)[0])
    found = difference_at_bytes(rows, EVERY, RARE, over=["u"], share=0.5)
    assert found[0] == pytest.approx(-5)
    assert math.isnan(found[1])


def test_gamma_is_chosen_by_held_out_accuracy_at_the_budget():
    """At 10,000 bytes, step 10 of NGO, γ = 0.1 is best; at its end, γ = 1.

    What the diverged run with γ = 2 has sent sets no budget.
    """
    curves = {
        0.1: ((0, 0.1, 0.1), (10, 0.5, 0.52), (100, 0.6, 0.62)),
        1.0: ((0, 0.1, 0.1), (10, 0.2, 0.22), (100, 0.9, 0.92)),
        2.0: ((0, 0.1, 0.1), (5, 0.1, 0.1)),
    }
    ngo = [
        evaluations(
            [{"step": s, "accuracy": a, "held_out": h, "bytes": 1000 * s} for s, a, h in curve],
            method="ngo", gamma=gamma, diverged=gamma == 2,
        )
        for gamma, curve in curves.items()
    ]  # fmt: skip
    rare = [
        {"step": s, "accuracy": a, "held_out": a, "bytes": 100 * s}
        for s, a in ((0, 0.1), (100, 0.6))
    ]
    rows = table(*ngo, evaluations(rare, method="local_sgd", gamma=0.3))
    found = difference_at_bytes(rows, EVERY, RARE, choose=["gamma"])
    assert found.tolist() == pytest.approx([50 - 60])


def test_accuracy_is_compared_after_equally_many_seconds():
    """A step takes 3 + 1 + 0.5 s on the ring, 3 + 1.5 + 0.5 s on the complete graph."""
    network = {"latency": 0.5, "bandwidth": 2000, "step": 3}
    rows = table(
        *(
            evaluations(
                [
                    {"step": s, "accuracy": a, "messages": s * edges, "bytes": s * edges * 1000}
                    for s, a in ((0, 0.1), (20, end))
                ],
                method="gossip", topology=graph, workers=4,
            )
            for graph, edges, end in (("ring", 8, 0.4), ("complete", 12, 0.5))
        )
    )  # fmt: skip
    sides = {"topology": "ring"}, {"topology": "complete"}
    # 90 s: the end of the ring's run, at 40 %, and step 18 of the other, at 46 %.
    assert difference_at_seconds(rows, *sides, network)[0] == pytest.approx(40 - 46)
    # 9 s: step 2 of the ring, at 13 %, and step 1.8 of the other, at 13.6 %.
    found = difference_at_seconds(rows, *sides, network, share=0.1)
    assert found[0] == pytest.approx(13 - 13.6)


def waiting_or_not(seconds):
    """With γ = 1 the mean model is best, with γ = 2 the workers. Waiting takes ``seconds``."""
    ends = {1.0: (0.8, 0.5), 2.0: (0.7, 0.6)}
    return table(
        *(
            evaluations(
                [
                    {"step": s, "accuracy": a, "held_out": a, "workers": w, "seconds": each * s}
                    for s, a, w in ((0, 0.1, 0.1), (10, *end))
                ],
                method="ngo", clock=clock, gamma=gamma,
            )
            for clock, each in (("asynchronous", 1.0), ("waiting", seconds))
            for gamma, end in ends.items()
        )
    )  # fmt: skip


def test_virtual_seconds_are_those_of_the_runs():
    sides = {"clock": "asynchronous"}, {"clock": "waiting"}
    rows = waiting_or_not(5.0)  # 10 s: the end of the one, step 2 of the other
    found = difference_at_seconds(rows, *sides, choose=["gamma"])
    assert found[0] == pytest.approx(80 - (10 + 70 / 5))
    own = {"value": "workers_accuracy", "by": "workers_accuracy_mean"}
    found = difference_at_seconds(rows, *sides, choose=["gamma"], **own)
    assert found[0] == pytest.approx(60 - (10 + 50 / 5))
    with pytest.raises(UserError, match="value: 'loss' is unknown; allowed: accuracy, workers_acc"):
        difference_at_seconds(rows, *sides, value="loss")


def test_runs_without_a_clock_need_a_network():
    with pytest.raises(UserError, match=r"^network: give one; these runs have no virtual seconds"):
        difference_at_seconds(table(*runs()), EVERY, RARE)
