"""Bounds of rounds without learning against closed forms."""

import math

import numpy as np
import pandas as pd
import pytest

from ngo.analysis.rounds_bounds import with_bounds

N, T = 10, 8
# Eigenvalues of I − W on a ring of ten with weights 1/3, but the first.
LAPLACE = [2 / 3 * (1 - math.cos(2 * math.pi * k / N)) for k in range(1, N)]


def theory(mixer, topology="ring", gamma=1.0, p=1.0, V0=900.0):
    row = pd.DataFrame([{"mixer": mixer, "topology": topology, "p": p, "gamma": gamma}])
    (found,) = with_bounds(row, N, T, V0).to_dict("records")
    return found["V_bound"], found["T_star"]


def test_linear_gossip_keeps_the_slowest_mode():
    bound, time = theory("linear", gamma=1.3)
    assert bound == pytest.approx(900 * max(abs(1 - 1.3 * each) for each in LAPLACE) ** (2 * T))
    assert math.isnan(time)


def test_accelerated_gossip_has_the_smallest_polynomial():
    sigma = max(abs(1 - 1.3 * each) for each in LAPLACE)
    bound, _ = theory("chebyshev", gamma=1.3)
    assert bound == pytest.approx(900 / math.cosh(T * math.acosh(1 / sigma)) ** 2)


def test_a_graph_that_is_exact_leaves_nothing():
    bound, _ = theory("linear", "base_graph")
    assert bound < 1e-25


def test_the_two_matchings_of_a_ring_alternate():
    """At γ = 1 they are projections at an angle of 2π/n; longer pulls are faster."""
    means, _ = theory("linear", "alternating_matching")
    longer, _ = theory("linear", "alternating_matching", gamma=1.3)
    assert means == pytest.approx(900 * math.cos(2 * math.pi / N) ** (2 * T - 2), rel=1e-9)
    assert longer < means / 10


def test_the_time_of_NGO_is_that_of_the_theorem_and_of_no_other_mixer():
    """At p = 1/2, T* = 2 V(0)^(1/2) / (√2 γ λ₂(L(B))^(1/2)), B = W²."""
    bound, time = theory("NGO", gamma=0.5, p=0.5)
    connectivity = 2 / 9 * (1 - math.cos(2 * math.pi / N))
    assert time == pytest.approx(2 * 30 / (math.sqrt(2) * 0.5 * math.sqrt(connectivity)))
    assert math.isnan(bound)
    assert np.isnan(theory("capped", p=0.5)).all()
    assert np.isnan(theory("linear", "random_matching")).all()
