import math

import pandas as pd
import pytest
from measured_runs import ended, table

from ngo.analysis.quantities.conditions import log_floor_to_V, log_quotient
from ngo.common.registry import UserError


def test_the_largest_quotient_of_two_terms():
    rows = pd.DataFrame({"seed": [0, 0, 1], "third": [1.0, 2.0, 0.1], "second": [10.0, 4.0, 1.0]})
    found = log_quotient(rows, "third", "second")
    assert found.to_dict() == pytest.approx({0: math.log(0.5), 1: math.log(0.1)})
    with pytest.raises(UserError, match="with: there is no column 'thrd'. Did you mean 'third'?"):
        log_quotient(rows, "thrd", "second")


def rings(V, gamma=0.1, seed=0, **more):
    """Two workers on a ring (W = 1/2) with ten parameters: linear, and with two exponents."""
    facts = {"topology": "ring", "workers": 2, "gamma": gamma, "parameters": 10, "seed": seed}
    return [ended(p=1.0, V=V, **facts, **more), *(ended(p=p, **facts) for p in (0.75, 0.6))]


def test_the_floor_of_the_worst_exponent_over_V_of_linear_gossip():
    # Two nodes end in a cycle with |x₁ − x₂| = (γw)^(1/(2 − 2p)): V is half of its square, for each
    # of ten parameters. At γw = 0.05 the floor of p = 0.6 is 5 · 0.05^2.5, that of 0.75 5 · 0.05^4.
    found = log_floor_to_V(table(*rings(2.0), *rings(4.0, seed=1)))
    expected = math.log(5 * 0.05**2.5)
    assert found.to_dict() == pytest.approx({0: expected - math.log(2), 1: expected - math.log(4)})


def test_a_linear_run_that_diverged_fails_the_gate():
    assert log_floor_to_V(table(*rings(2.0, diverged=True)))[0] == math.inf


def test_errors():
    with pytest.raises(UserError, match="gamma: the floor of V is compared at one γ"):
        log_floor_to_V(table(*rings(2.0), *rings(2.0, gamma=0.3)))
    with pytest.raises(UserError, match="p: the floor of V is compared with p = 1"):
        log_floor_to_V(table(*rings(2.0)[1:]))
