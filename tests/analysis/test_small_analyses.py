"""Analyses of the tables of runs, against values by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up import TABLE1, TABLE_A2, cell, exponents, run
from made_up import TABLE_S1 as REFERENCE
from made_up_rounds import by_gamma, made
from made_up_speed import trajectories as simulated

from ngo.analysis import mixers, published
from ngo.analysis.chatter import chatter_floor
from ngo.analysis.dynamics import consensus_rounds, delay_limit_in_rounds
from ngo.analysis.seed_means import check_apart
from ngo.analysis.spectra import spectral_comparison
from ngo.analysis.universes import Universe, in_universes
from ngo.common.registry import UserError
from ngo.measures.spectra import SpectraOptions, spectral_table


def test_each_p_has_its_own_floor():
    """On an even ring, V = nd/4 · (2γw)^(1/(1−p)), w = 1/3."""
    floor = chatter_floor(exponents().query("p < 1")).set_index(["p", "gamma"])["mean"]
    for p, gamma in floor.index:
        assert floor[p, gamma] == pytest.approx(250 * (2 * gamma / 3) ** (1 / (1 - p)), rel=1e-6)
    assert len(floor) == 4


def test_consensus_rounds_are_counted_for_each_p_and_delay():
    V = {(1.0, 0): [8.0, 3.0, 1.0], (1.0, 5): [8.0, 9.0, 7.0]}
    rows = [
        {"p": p, "delay": delay, "round": k, "worker": w, "V": value}
        for (p, delay), values in V.items()
        for k, value in enumerate(values)
        for w in range(2)
    ]
    table = consensus_rounds(pd.DataFrame(rows), 0.5).set_index("delay")
    assert table.loc[0, "first_round"] == 1
    assert math.isnan(table.loc[5, "first_round"])
    assert table["V_final"].tolist() == [1.0, 7.0]


def test_the_limit_of_the_delay_is_that_of_the_graph():
    delayed = simulated((1.0,), (0,), rounds=1)
    # A ring's λ_n is (1/3)(2 − 2 cos π) = 4/3 for even n, a complete graph's 1.
    assert delay_limit_in_rounds(delayed) == pytest.approx(math.pi / (2 * 4 / 3) / 0.02)
    complete = delayed.assign(topology="complete")
    assert delay_limit_in_rounds(complete) == pytest.approx(math.pi / 0.04)
    assert delay_limit_in_rounds(delayed.assign(topology="random")) == math.inf


def runs():
    steps = {"step": [10, 0], "consensus_accuracy": [0.9, 0.1], "workers_accuracy_mean": [0.8, 0.1]}
    return pd.concat([pd.DataFrame({"run": run, **steps}) for run in "ab"], ignore_index=True)


def test_a_run_has_rows_in_each_of_its_universes():
    universes = [Universe(0, {"p": 0.9, "lr": 0.1}, ("a",)), Universe(3, {"p": 0.7}, ("a", "b"))]
    table = in_universes(runs(), universes)
    assert [*table["universe"]] == [0, 0, 3, 3, 3, 3]
    assert [*table["run"]] == [*"aa", *"aabb"]
    assert [*table["step"]] == [0, 10] * 3
    assert [*table["universe_p"]] == [0.9, 0.9, 0.7, 0.7, 0.7, 0.7]
    assert "chosen_accuracy" not in table


def test_the_chosen_accuracy_is_that_of_the_workers_or_of_their_mean():
    table = in_universes(
        runs(),
        [Universe(k, {"accuracy_of": of}, ("a",)) for k, of in enumerate(("workers", "mean"))],
    )
    ends = table[table["step"] == 10]
    assert np.allclose(ends["chosen_accuracy"], [0.8, 0.9])
    assert [*ends["universe_accuracy_of"]] == ["workers", "mean"]


def test_each_mixer_has_the_gamma_with_the_lowest_V():
    found = mixers.best_cases(mixers.with_mixers(made(by_gamma))).set_index("mixer")
    assert len(found) == 6
    assert found.loc["linear", "gamma"].tolist() == [1, 1]
    assert found.loc["NGO", ["gamma", "p"]].to_numpy().tolist() == [[0.5, 0.75]] * 2
    assert found.loc["capped", "gamma"].tolist() == [1, 1]


def test_values_are_of_the_seeds_that_did_not_choose():
    """With seeds 4 to 7 ten times better at γ = 0.5, the choice of seeds 0 to 3 stays."""

    def V(coupling, p, gamma, seed):
        return by_gamma(coupling, p, gamma, seed) / (10 if gamma == 0.5 and seed > 3 else 1)

    chosen = mixers.best_rows(mixers.with_mixers(made(V)))
    assert set(chosen["seed"]) == {4, 5, 6, 7}
    assert set(chosen.loc[chosen["mixer"] == "linear", "gamma"]) == {1.0}


def test_a_case_that_diverges_comes_last():
    def V(coupling, p, gamma, seed):
        return np.nan if coupling == "capped" and gamma == 1 and seed == 2 else 1.0

    found = mixers.best_cases(mixers.with_mixers(made(V))).set_index("mixer")
    assert set(found.loc["capped", "gamma"]) == {0.5}


@pytest.mark.parametrize(
    ("dataset", "reference", "column", "number"),
    [
        ("mnist", TABLE1, "test_accuracy_percent", 64.84),
        ("digits", TABLE1, "test_accuracy_percent", 64.84),  # stands in for MNIST
        ("cifar10", TABLE1, "test_accuracy_percent", 34.14),
        ("sine", TABLE1, "test_accuracy_percent", math.nan),
        ("mnist", TABLE_A2, "value", 0.50),  # there are numbers of CIFAR-10 alone
        ("digits", TABLE_A2, "value", 0.50),
    ],
)
def test_the_papers_number_beside_ours(dataset, reference, column, number):
    rows = pd.DataFrame(cell("ring", "ngo", [0.5], partition="shards", dataset=dataset)[-1:])
    found = published.published_for(rows, reference, column)
    assert found.tolist() == pytest.approx([number], nan_ok=True)


def test_two_runs_of_one_seed_are_not_seeds():
    runs = pd.DataFrame([*run(0.5, lr=0.1)[-1:], *run(0.5, lr=0.2)[-1:]])
    check_apart(runs, ["method", "lr"])
    with pytest.raises(UserError, match=r"method and seed alone, but there are 0.1-0, 0.2-0;"):
        check_apart(runs, ["method"])


def measured():
    """Rings and complete graphs as ``ngo spectra`` measures them, and a random graph."""
    return spectral_table(SpectraOptions(topology=("ring", "random", "complete"), draws=3))


def test_table_s1_agrees_with_the_papers_digits():
    ours = measured()
    table = spectral_comparison(ours, REFERENCE)
    agrees = {name: set(part["agrees"].dropna()) for name, part in table.groupby("topology")}
    assert agrees == {"ring": {"yes"}, "complete": {"yes"}, "random": set()}
    assert table["paper"].notna().sum() == 8
    assert table.loc[table["topology"] == "complete", "degree"].tolist() == [3, 15, 35, 63]
    forms = table.set_index("topology")[["paper_degree", "degree_agrees"]].drop_duplicates()
    assert forms.loc["ring"].tolist() == ["2", "yes"]
    assert forms.loc["complete"].tolist() == ["n-1", "yes"]
    wrong = spectral_comparison(ours.assign(spectral_gap=0.5), REFERENCE)
    assert set(wrong["agrees"].dropna()) == {"no"}


def random_graph(degree, draws, n=64, u=0.4):
    """A row of a random graph."""
    facts = {"topology": "random", "u": u, "n": n, "draws": draws, "degree": degree}
    return pd.DataFrame([{**facts, "spectral_gap": 0.5}])


@pytest.mark.parametrize(
    ("degree", "draws", "printed", "true"),
    [
        (25.2, 400, "no", "yes"),
        (25.6, 400, "yes", "no"),
        (24.9, 400, "no", "no"),
        (25.4, 10, "undecided", "undecided"),  # 10 draws are within 0.87 of u(n − 1), and of un
    ],
)
def test_a_random_graphs_degree_is_judged_by_its_standard_error(degree, draws, printed, true):
    (row,) = spectral_comparison(random_graph(degree, draws), REFERENCE).to_dict("records")
    assert (row["paper_degree"], row["true_degree"]) == ("un", "u(n-1)")
    assert (row["degree_agrees"], row["true_degree_agrees"]) == (printed, true)
