"""Quantities of the judge, against values by hand."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused
from measured_runs import ended, pairs, table

from verdicts import quantities
from verdicts.quantities import slope_of

NGO, GOSSIP = {"method": "ngo"}, {"method": "gossip"}
INF = math.inf
GRID = {(0.9, 0.1): (0.6, 0.5), (0.9, 0.3): (0.5, 0.9), (0.7, 0.1): (0.7, 0.6)}
LINEAR = {(1.0, 0.1): (0.2, 0.9), (1.0, 1.3): (0.8, 0.55)}


def numbers_of(name):
    """What a quantity gives by seed, without the runs behind it."""
    quantity = getattr(quantities, name)
    return lambda *rows, **given: quantity(*rows, **given).numbers


best_difference, contrast = map(numbers_of, ("best_difference", "contrast"))
log_spread_ratio, pooled = map(numbers_of, ("log_spread_ratio", "pooled"))
remaining_gap, slope, spread = map(numbers_of, ("remaining_gap", "slope", "spread"))


def test_it_is_the_mean_of_each_seed_and_divergence_counts():
    seeds = pd.Index([100, 101, 102, 103], name="seed")
    rows = pd.DataFrame({"a": [1, 2, INF, INF], "b": [3, math.nan, 1, -INF]}, seeds)
    found = pooled(rows, ["a", "b"])
    assert found[[100, 102]].tolist() == [2.0, math.inf]
    assert found[[101, 103]].isna().all()


def rates(accuracies, lost=(), method="ngo"):
    how = [{"gamma": g, "accuracy": a, "diverged": g in lost} for g, a in accuracies.items()]
    return [ended(method=method, **each) for each in how]


def test_the_spread_over_a_field_is_infinite_if_a_run_diverged():
    assert spread(table(*rates({0.1: 0.5, 1.0: 0.6}, lost=(1.0,))), "gamma")[0] == math.inf
    assert spread(table(*rates({0.1: 0.5, 0.3: 0.7, 1.0: 0.6})), "gamma")[0] == pytest.approx(20)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [((), (), math.log(4)), ((1.0,), (), INF), ((), (1.0,), -INF), ((1.0,), (1.0,), math.nan)],
)
def test_the_ratio_of_spreads(ours, theirs, expected):
    others = rates({0.1: 0.5, 1.0: 0.6}, method="gossip", lost=theirs)
    rows = table(*rates({0.1: 0.5, 1.0: 0.9}, lost=ours), *others)
    assert log_spread_ratio(rows, NGO, GOSSIP, "gamma")[0] == pytest.approx(expected, nan_ok=True)


def along_p(accuracies, lost=(), seed=0):
    how = [{"p": p, "accuracy": a, "diverged": p in lost} for p, a in accuracies.items()]
    return [ended(seed=seed, V=1 / each["accuracy"], **each) for each in how]


def test_the_slope_of_a_difference_of_the_best_and_without_a_run():
    rows = []
    for s, q, n in product((0, 1, 2), ("ngo", "gossip"), (4, 16, 64)):
        accuracy = 0.5 + (q == "ngo") * np.log(n) / 100 * s
        rows.append(ended(seed=s, method=q, workers=n, accuracy=accuracy))
    found = slope(table(*rows), "workers", log_along=True, of=NGO, minus=GOSSIP)
    assert found.to_dict() == pytest.approx({0: 0, 1: 1, 2: 2})
    rows = table(*along_p({0.6: 0.5, 1.0: 0.7}), *along_p({0.6: 0.5}, seed=1))
    assert math.isnan(slope(rows, "p")[1])
    assert math.isnan(slope_of(np.array([1.0, 1.0]), np.array([1.0, 2.0])))
    cases = ((0.6, 0.1, 9.0), (0.6, 0.01, 1.0), (1.0, 0.1, 4.0), (1.0, 0.01, 9.0))
    rows = table(*(ended(p=p, gamma=g, V=V) for p, g, V in cases))
    assert slope(rows, "p", "V", log=True, best="gamma")[0] == pytest.approx(np.log(4) / 0.4)


@cases("lost, expected", ((0.6,), INF), ((1.0,), -INF), ((0.6, 1.0), math.nan), ((0.8,), 25))
def test_a_diverged_run_pulls_the_slope_to_its_side(lost, expected):
    rows = table(*along_p({0.6: 0.5, 0.8: 0.9, 1.0: 0.6}, lost=lost))
    assert slope(rows, "p")[0] == pytest.approx(expected, nan_ok=True)


def tried(method, grid, topology="ring", lost=()):
    """Runs of two seeds; ``grid`` has the held-out and test accuracy of each p and γ."""
    return [
        ended(seed=s, method=method, topology=topology, p=p, gamma=g, held_out=held_out,
              accuracy=test + s / 10, diverged=(p, g) in lost and s == 1)
        for (p, g), (held_out, test) in grid.items() for s in (0, 1)
    ]  # fmt: skip


def test_sides_are_chosen_by_held_out_accuracy_and_what_diverges_everywhere_loses():
    rows = table(*tried("ngo", GRID), *tried("gossip", LINEAR))
    # NGO at p = 0.7 and γ = 0.1 (60 %), gossip at γ = 1.3 (55 %).
    assert best_difference(rows, NGO, GOSSIP).to_dict() == pytest.approx({0: 5, 1: 5})
    rows = table(*tried("ngo", GRID, lost=tuple(GRID)), *tried("gossip", LINEAR))
    assert best_difference(rows, NGO, GOSSIP)[1] == -math.inf


def test_an_interaction_is_a_contrast_of_four_runs():
    one, other = [("iid", 1, 0.95, 1), ("iid", 5, 0.94, -1)], [("shards", 1, 0.7, -1)]
    cases = [*one, *other, ("shards", 5, 0.5, 1)]
    rows = [
        ended(seed=s, partition=part, local_steps=h, accuracy=a + s / 10 * (a == 0.5))
        for s in (0, 1)
        for part, h, a, _ in cases
    ]
    terms = [{"weight": w, "partition": part, "local_steps": h} for part, h, _, w in cases]
    # iid loses 1 point, non-iid 20 and 10.
    assert contrast(table(*rows), terms).to_dict() == pytest.approx({0: -19, 1: -9})


def gap(ngo, gossip, centralized, **lost):
    best = table(ended(method="centralized", accuracy=centralized))
    rows = pd.concat([pairs([ngo], [gossip], topology="ring", **lost), best], ignore_index=True)
    to = {"method": "centralized"}
    return remaining_gap(rows, NGO, GOSSIP, to, over=["topology"]).loc[0].tolist()


def test_the_two_parts_of_a_gap_that_remains():
    assert gap(0.7, 0.6, 0.8) == pytest.approx([10, 20])
    assert gap(0.9, 0.6, 0.8) == pytest.approx([-10, 20])
    refused("^remaining_gap: there is none to close; [^\n]*$", gap, 0.9, 0.8, 0.8)
    assert gap(0.7, 0.6, 0.8, lost_ours=(0,)) == pytest.approx([INF, 20])
    assert gap(0.7, 0.6, 0.8, lost_theirs=(0,)) == pytest.approx([10, INF])
    both = gap(0.7, 0.6, 0.8, lost_ours=(0,), lost_theirs=(0,))
    assert both == pytest.approx([math.nan] * 2, nan_ok=True)
