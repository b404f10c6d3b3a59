"""Quantities of the judge, against values by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from measured_runs import ended, pairs, table

from verdicts import quantities
from verdicts.quantities import slope_of
from verdicts.registry import UserError


def numbers_of(name):
    """What a quantity gives by seed, without the runs behind it."""
    quantity = getattr(quantities, name)
    return lambda *rows, **given: quantity(*rows, **given).numbers


best_difference, contrast, difference, log_ratio, log_spread_ratio = map(
    numbers_of, ("best_difference", "contrast", "difference", "log_ratio", "log_spread_ratio")
)
pooled, remaining_gap, slope, spread = map(
    numbers_of, ("pooled", "remaining_gap", "slope", "spread")
)


def test_it_is_the_mean_of_each_seed_and_divergence_counts():
    rows = pd.DataFrame(
        {"a": [1.0, 2.0, math.inf, math.inf], "b": [3.0, math.nan, 1.0, -math.inf]},
        index=pd.Index([100, 101, 102, 103], name="seed"),
    )
    found = pooled(rows, ["a", "b"])
    assert found[[100, 102]].tolist() == [2.0, math.inf]
    assert found[[101, 103]].isna().all()


NGO, GOSSIP = {"method": "ngo"}, {"method": "gossip"}
INF = math.inf


def rates(accuracies, method="ngo", lost=()):
    return [
        ended(method=method, gamma=g, accuracy=a, diverged=g in lost) for g, a in accuracies.items()
    ]


def test_the_spread_over_a_field_is_infinite_if_a_run_diverged():
    assert spread(table(*rates({0.1: 0.5, 1.0: 0.6}, lost=(1.0,))), "gamma")[0] == math.inf
    assert spread(table(*rates({0.1: 0.5, 0.3: 0.7, 1.0: 0.6})), "gamma")[0] == pytest.approx(20)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [((), (), math.log(4)), ((1.0,), (), INF), ((), (1.0,), -INF), ((1.0,), (1.0,), math.nan)],
)
def test_the_ratio_of_spreads(ours, theirs, expected):
    rows = table(
        *rates({0.1: 0.5, 1.0: 0.9}, lost=ours),
        *rates({0.1: 0.5, 1.0: 0.6}, method="gossip", lost=theirs),
    )
    assert log_spread_ratio(rows, NGO, GOSSIP, "gamma")[0] == pytest.approx(expected, nan_ok=True)


def along_p(accuracies, *, lost=(), seed=0, **fields):
    return [
        ended(seed=seed, p=p, accuracy=a, V=1 / a, diverged=p in lost, **fields)
        for p, a in accuracies.items()
    ]


def test_the_slope_of_a_line():
    rows = table(*along_p({0.6: 0.5, 0.8: 0.6, 1.0: 0.7}))
    assert slope(rows, "p")[0] == pytest.approx(50)


def test_the_slope_of_a_difference():
    rows = table(
        *(
            ended(seed=s, method=q, workers=n, accuracy=0.5 + (q == "ngo") * np.log(n) / 100 * s)
            for s in (0, 1, 2) for q in ("ngo", "gossip") for n in (4, 16, 64)
        )
    )  # fmt: skip
    found = slope(rows, "workers", log_along=True, of={"method": "ngo"}, minus={"method": "gossip"})
    assert found.to_dict() == pytest.approx({0: 0, 1: 1, 2: 2})


@pytest.mark.parametrize(
    ("lost", "expected"), [((0.6,), INF), ((1.0,), -INF), ((0.6, 1.0), math.nan), ((0.8,), 25)]
)
def test_a_diverged_run_pulls_the_slope_to_its_side(lost, expected):
    rows = table(*along_p({0.6: 0.5, 0.8: 0.9, 1.0: 0.6}, lost=lost))
    assert slope(rows, "p")[0] == pytest.approx(expected, nan_ok=True)


def test_a_seed_with_a_missing_run_has_no_slope():
    rows = table(*along_p({0.6: 0.5, 1.0: 0.7}), *along_p({0.6: 0.5}, seed=1))
    assert math.isnan(slope(rows, "p")[1])
    assert math.isnan(slope_of(np.array([1.0, 1.0]), np.array([1.0, 2.0])))


def test_each_p_at_its_own_best_gamma():
    rows = table(
        *(
            ended(p=p, gamma=g, V=V)
            for p, g, V in ((0.6, 0.1, 9.0), (0.6, 0.01, 1.0), (1.0, 0.1, 4.0), (1.0, 0.01, 9.0))
        )
    )
    found = slope(rows, "p", "V", log=True, best="gamma")
    assert found[0] == pytest.approx(np.log(4) / 0.4)


def tried(method, grid, topology="ring", lost=()):
    """Runs of two seeds; ``grid`` has the held-out and test accuracy of each p and γ."""
    return [
        ended(seed=s, method=method, topology=topology, p=p, gamma=g, held_out=held_out,
              accuracy=test + s / 10, diverged=(p, g) in lost and s == 1)
        for (p, g), (held_out, test) in grid.items() for s in (0, 1)
    ]  # fmt: skip


GRID = {(0.9, 0.1): (0.6, 0.5), (0.9, 0.3): (0.5, 0.9), (0.7, 0.1): (0.7, 0.6)}
LINEAR = {(1.0, 0.1): (0.2, 0.9), (1.0, 1.3): (0.8, 0.55)}


def test_each_side_is_chosen_by_its_held_out_accuracy_and_compared_on_the_test_set():
    rows = table(*tried("ngo", GRID), *tried("gossip", LINEAR))
    # NGO at p = 0.7 and γ = 0.1 (60 %), gossip at γ = 1.3 (55 %).
    assert best_difference(rows, NGO, GOSSIP).to_dict() == pytest.approx({0: 5, 1: 5})


def test_a_method_that_diverges_everywhere_loses():
    rows = table(*tried("ngo", GRID, lost=tuple(GRID)), *tried("gossip", LINEAR))
    assert best_difference(rows, NGO, GOSSIP)[1] == -math.inf


def joined(*tables):
    return pd.concat(tables, ignore_index=True)


def test_differences_are_paired_by_seed():
    found = difference(pairs([0.5, 0.7, 0.9], [0.4, 0.8, 0.9]), NGO, GOSSIP)
    assert found.to_dict() == pytest.approx({0: 10, 1: -10, 2: 0})


def test_topologies_are_averaged_within_a_seed():
    rows = joined(
        pairs([0.5, 0.7], [0.4, 0.4], topology="ring"),
        pairs([0.6, 0.7], [0.3, 0.6], topology="complete"),
    )
    found = difference(rows, NGO, GOSSIP, over=["topology"])
    assert found.to_dict() == pytest.approx({0: 20, 1: 20})


@pytest.mark.parametrize(
    ("value", "of_ngo", "of_gossip"), [("accuracy", -INF, INF), ("V", INF, -INF)]
)
def test_divergence_counts_against_its_method(value, of_ngo, of_gossip):
    rows = pairs([0.5] * 4, [0.4] * 4, lost_ours=(1, 3), lost_theirs=(2, 3))
    found = difference(rows, NGO, GOSSIP, value)
    assert found[1] == of_ngo
    assert found[2] == of_gossip
    assert math.isnan(found[3])  # both: no comparison


def test_log_ratios():
    rows = pairs([1.0, 8.0], [2.0, 2.0], value="V")
    found = log_ratio(rows, NGO, GOSSIP)
    assert found.to_dict() == pytest.approx({0: -math.log(2), 1: math.log(4)})


def test_an_interaction_is_a_contrast_of_four_runs():
    rows = table(
        *(
            ended(seed=s, partition=part, local_steps=h, accuracy=a)
            for s in (0, 1)
            for part, h, a in (
                ("iid", 1, 0.95), ("iid", 5, 0.94), ("shards", 1, 0.7), ("shards", 5, 0.5 + s / 10)
            )
        )
    )  # fmt: skip
    terms = [
        {"weight": 1, "partition": "iid", "local_steps": 1},
        {"weight": -1, "partition": "iid", "local_steps": 5},
        {"weight": -1, "partition": "shards", "local_steps": 1},
        {"weight": 1, "partition": "shards", "local_steps": 5},
    ]
    # iid loses 1 point, non-iid 20 and 10.
    assert contrast(rows, terms).to_dict() == pytest.approx({0: -19, 1: -9})


def gap(ngo, gossip, centralized, **lost):
    rows = joined(
        pairs([ngo], [gossip], topology="ring", **lost),
        table(ended(method="centralized", accuracy=centralized)),
    )
    return (
        remaining_gap(rows, NGO, GOSSIP, {"method": "centralized"}, over=["topology"])
        .loc[0]
        .tolist()
    )


def test_the_two_parts_of_a_gap_that_remains():
    assert gap(0.7, 0.6, 0.8) == pytest.approx([10, 20])
    assert gap(0.9, 0.6, 0.8) == pytest.approx([-10, 20])
    with pytest.raises(UserError, match="^remaining_gap: there is none to close; [^\n]*$"):
        gap(0.9, 0.8, 0.8)


def test_the_gap_of_a_diverged_run_counts_against_it():
    assert gap(0.7, 0.6, 0.8, lost_ours=(0,)) == pytest.approx([INF, 20])
    assert gap(0.7, 0.6, 0.8, lost_theirs=(0,)) == pytest.approx([10, INF])
    both = gap(0.7, 0.6, 0.8, lost_ours=(0,), lost_theirs=(0,))
    assert both == pytest.approx([math.nan] * 2, nan_ok=True)
