import math

import pytest
from measured_runs import ended, table

from verdicts.quantities.differences import best_contrast, best_difference

NGO, GOSSIP = {"method": "ngo"}, {"method": "gossip"}


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


def test_a_value_with_a_diverged_run_is_not_chosen():
    rows = table(*tried("ngo", GRID, lost=((0.7, 0.1),)), *tried("gossip", LINEAR))
    # NGO at p = 0.9 and γ = 0.1 (50 %).
    assert best_difference(rows, NGO, GOSSIP)[0] == pytest.approx(-5)


def test_a_method_that_diverges_everywhere_loses():
    rows = table(*tried("ngo", GRID, lost=tuple(GRID)), *tried("gossip", LINEAR))
    assert best_difference(rows, NGO, GOSSIP)[1] == -math.inf


def test_an_interaction_has_each_of_its_four_sides_at_its_own_best_values():
    other = {(0.9, 0.3): (0.9, 0.75), (0.7, 0.1): (0.1, 0.1)}
    rows = table(
        *tried("ngo", GRID), *tried("gossip", LINEAR),
        *tried("ngo", other, "complete"), *tried("gossip", LINEAR, "complete"),
    )  # fmt: skip
    terms = [
        {"weight": sign * weight, **side, "topology": topology}
        for sign, side in ((1, NGO), (-1, GOSSIP))
        for weight, topology in ((1, "complete"), (-1, "ring"))
    ]
    assert best_contrast(rows, terms)[0] == pytest.approx(20 - 5)
