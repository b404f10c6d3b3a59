"""The figure and table of consensus in finite time, from made-up rounds."""

import math

import numpy as np
import pandas as pd
import pytest
from figure_files import made
from made_up_rounds import by_gamma
from made_up_rounds import made as rounds

from ngo.analysis.best_in_rounds import comparison, with_theory

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


@pytest.fixture
def tables():
    """The three measurements."""
    table = rounds(by_gamma)
    exact = table[(table["p"] == 1) & (table["disturbance"] == "none")]
    return {
        "ring": table,
        "matchings": table.assign(topology="alternating_matching"),
        "exact": exact.assign(topology="base_graph"),
    }


def test_the_figure_and_the_table_are_saved(tables, tmp_path):
    output = made("beyond/finite_time", tmp_path, **tables)
    assert output.picture.stat().st_size > 10_000
    shown = pd.read_csv(tmp_path / "figures/finite_time.csv")
    assert set(shown["topology"]) == {"ring", "alternating_matching", "base_graph"}
    (printed,) = output.tables
    rows = printed.set_index(["Disturbance", "Graph", "Mixing"])
    assert len(rows) == 2 * 3 * 2 + 1
    assert rows.loc[("drift 0.1", "ring", "NGO"), "V / linear"].startswith("4.00e+00 [")
    assert rows.loc[("none", "base_graph", "linear"), "Best γ"] == "1"


def test_the_comparison_with_linear_gossip_is_paired_by_seed():
    actual = comparison(rounds(by_gamma))
    actual = actual.set_index(["disturbance", "mixer"])
    levels = 1 + 0.1 * np.array([4, 5, 6, 7])
    assert np.isclose(actual.loc[("drift", "linear"), "mean"], 2 * np.exp(np.log(levels).mean()))
    assert np.isclose(actual.loc[("drift", "NGO"), "ratio_mean"], 4)
    assert np.isclose(actual.loc[("drift", "capped"), "ratio_mean"], 0.5)
    assert (actual["seeds"] == 4).all()


N, T = 10, 8
# Eigenvalues of I − W on a ring of ten with weights 1/3, but the first.
LAPLACE = [2 / 3 * (1 - math.cos(2 * math.pi * k / N)) for k in range(1, N)]


def theory(mixer, topology="ring", gamma=1.0, p=1.0, V0=900.0):
    row = pd.DataFrame([{"mixer": mixer, "topology": topology, "p": p, "gamma": gamma}])
    (actual,) = with_theory(row, N, T, V0).to_dict("records")
    return actual["V_bound"], actual["T_star"]


def test_linear_gossip_keeps_the_slowest_mode():
    bound, time = theory("linear", gamma=1.3)
    assert bound == pytest.approx(900 * max(abs(1 - 1.3 * value) for value in LAPLACE) ** (2 * T))
    assert math.isnan(time)


def test_accelerated_gossip_has_the_smallest_polynomial():
    sigma = max(abs(1 - 1.3 * value) for value in LAPLACE)
    bound, _ = theory("chebyshev", gamma=1.3)
    assert bound == pytest.approx(900 / math.cosh(T * math.acosh(1 / sigma)) ** 2)


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
