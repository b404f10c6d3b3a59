"""Each theorem: what was measured with small options, and which measurements would refute it."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from cases import cases, refused
from small_theory import OPTIONS, asked, holds, small_rows

from ngo.gossip.mixing_matrix import algebraic_connectivity
from ngo.theorems.continuous import distance_from_line, rate
from ngo.theorems.graphs import graph, graphs, residual, sgd_graph
from ngo.theorems.least_squares import curved_problem, sides
from ngo.theorems.table import table_of
from verdicts.registry import UserError

TWO = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)


#: What holds, and what does not, of quantities without arguments: theory_NAME of rows of a KIND.
HELD = "chatter_floor floors, finite_time bounds, continuous_mean means, convergence gaps, "
HELD += "degree_limit degrees, delay_limit limits, linear_decay decays, link_failures failures, "
HELD += "log_linear logs, switching switches, weight_sum sums"
FAILED = "index_vanishes gaps, delay_residual delays, delay_floor delays"


def table(columns, *rows):
    return [dict(zip(columns.split(), row, strict=True)) for row in rows]


# Of made-up rows, the quantity and its arguments, and which are met.
SEEN = {
    "a floor beyond a factor of two": (
        "chatter_floor", "floors", {},
        table("p gamma measured predicted", (0.5, 1, 0.6, 1.0), (0.5, 1, 0.4, 1.0)), [True, False],
    ),
    "a late consensus": (
        "consensus_time", "bounds", {"form": "sharp"},
        table("p draw measured sharp", (0.5, 0, 1.2, 1.2), (0.5, 0, 1.201, 1.2)), [True, False],
    ),
    "no consensus at all, of the exponent of the figure": (
        "finite_time", "bounds", {},
        table("p draw measured sharp", (0.5, 0, 1.2, 1.2), (0.5, 0, math.inf, 1.2),
              (0.9, 0, 1.0, 1.2)), [True, False],
    ),
    "another end than the mean": (
        "continuous_mean", "means", {}, table("draw measured", (0, 1e-13), (0, 1e-9)),
        [True, False],
    ),
    "a gamma beyond the limit decides nothing": (
        "degree_limit", "degrees", {},
        table("weights share residual", ("unit", 0.5, 1e-9), ("unit", 0.9, 1e-3),
              ("unit", 1.5, 1e9)), [True, False],
    ),
    "shorter rounds that come no closer": (
        "delay_limit", "limits", {},
        table("step tolerated limit", (0.1, 1.38, 1.5), (0.05, 1.38, 1.5)), [True, False],
    ),
    "unit steps reach consensus exactly where it is allowed": (
        "delay_unit_step", "unit_steps", {},
        table("delay limit residual", (1, 1.5, 1e-9), (1, 1.5, 0.1), (1, 0.9, 1e-9), (1, 0.9, 0.1)),
        [True, False, False, True],
    ),
    "a bent line": (
        "log_linear", "logs", {}, table("draw measured", (0, 1e-5), (0, 0.06)), [True, False],
    ),
    "a slower decay": (
        "linear_decay", "decays", {},
        table("gamma measured limit", (0.1, 0.9, 0.9), (0.1, 0.9001, 0.9)), [True, False],
    ),
    "linear consensus must vanish, sublinear may chatter": (
        "link_failures", "failures", {},
        table("p residual without", (1.0, 1e-9, 1e-20), (1.0, 1e-4, 1e-4), (0.9, 1e-4, 1e-4),
              (0.9, 1e-3, 1e-4)), [True, False, True, False],
    ),
    "a slower signal": (
        "switching", "switches", {},
        table("signal seed rate limit", ("slowest", 0, 0.1, 0.1), ("random", 0, 0.2, 0.1),
              ("random", 1, 0.09, 0.1)), [True, True, False],
    ),
    "a wrong sum of weights": (
        "weight_sum", "sums", {},
        table("a T summed closed least", (16.0, 10, 4245.0, 4245.0, 333.3),
              (16.0, 11, 4245.0, 4246.0, 5000.0)), [True, False, True, False],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "arguments", "rows", "met"), SEEN.values(), ids=SEEN)
def test_what_would_refute_a_theorem_is_seen(name, kind, arguments, rows, met):
    assert asked(f"theory_{name}", kind, rows, **arguments)["met"].tolist() == met


@cases(
    "name, kind, arguments, expected",
    *((*each.split(), {}, True) for each in HELD.split(", ")),
    *((*each.split(), {}, False) for each in FAILED.split(", ")),
    ("delay_unit_step", "unit_steps", {}, False),
    ("consensus_time", "bounds", {"form": "paper"}, False),
    ("consensus_time", "bounds", {"form": "corrected"}, True),
    ("consensus_time", "bounds", {"form": "sharp"}, True),
    ("bound", "gaps", {"method": "centralized", "form": "printed"}, False),
    ("bound", "gaps", {"method": "gossip", "form": "printed"}, False),
    ("bound", "gaps", {"method": "centralized", "form": "amended"}, True),
    ("bound", "gaps", {"method": "gossip", "form": "amended"}, True),
    ("bound", "gaps", {"method": "ngo", "form": "printed", "least_T": 100}, True),
    ("bound", "gaps", {"method": "ngo", "form": "amended", "least_T": 100}, True),
    ("delay_residual", "delays", {"linear": True}, True),
    ("delay_marginal", "marginal", {"form": "closed"}, False),
    ("delay_marginal", "marginal", {"form": "open"}, True),
    ("descent_lemma", "descents", {"form": "printed"}, False),
    ("descent_lemma", "descents", {"form": "supplement"}, True),
    ("index_lemma", "spreads", {"form": "printed"}, True),
    ("index_lemma", "spreads", {"form": "amended"}, True),
    ("random_system", "random", {"form": "printed"}, False),
    ("random_system", "random", {"form": "amended"}, True),
)
def test_what_was_measured_decides(name, kind, arguments, expected):
    assert holds(f"theory_{name}", kind, **arguments) == expected


@cases(
    "name, kind, rows, arguments, message",
    ("consensus_time", "bounds", table("p draw measured sharp", (0.5, 0, 1.0, 1.0)),
    {"form": "shrp"}, "^form: 'shrp' is unknown; allowed: corrected, paper"),
    ("delay_marginal", "marginal", table("delay share residual", (5, 1.0, 1.0)),
    {"form": "shut"}, "^form: 'shut' is unknown; allowed: closed, open"),
    ("speedup_slope", "speedup", table("seed n gap", (4, 2, 1.5)), {},
    "^speedup_workers: a slope needs two numbers"),
)  # fmt: skip
def test_what_can_not_be_asked_is_one_line(name, kind, rows, arguments, message):
    refused(message, asked, f"theory_{name}", kind, rows, **arguments)


def test_graphs_are_connected_and_listed_once(monkeypatch):
    actual = list(graphs(OPTIONS, OPTIONS.workers))
    assert [n for _, n, _ in actual].count(2) == 1  # all topologies of two workers are the same
    assert {"ring", "complete"} <= {name for name, _, _ in actual}
    assert all(algebraic_connectivity(W) > 1e-9 for _, _, W in actual)
    assert all(
        torch.equal(a[2], b[2])
        for a, b in zip(actual, graphs(OPTIONS, OPTIONS.workers), strict=True)
    )
    complete = sgd_graph(replace(OPTIONS, sgd_topology="complete"))
    assert torch.allclose(complete, torch.full((5, 5), 0.2).double())
    monkeypatch.setattr("ngo.theorems.graphs.MAX_DRAWS", 50)
    with pytest.raises(UserError, match="u: no random graph of 2 workers is connected at 1e-09"):
        graph("random", 2, 1e-9, seed=0)


def test_the_residual_of_two_workers():
    """They halve their distance with a quarter; what overflows is infinite and not zero."""
    apart = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    left = residual(apart, TWO, 1.0, 0.5, 20)
    assert left == pytest.approx(0.25**19, abs=0)  # V from round 19 on
    assert residual(apart, TWO, 1.0, 1e200, 20) == math.inf


def test_floors_are_above_a_half_and_not_of_too_many_rounds():
    floors = small_rows("floors")
    assert set(floors["p"]) == {0.75}
    assert not floors.duplicated(["topology", "n", "p", "gamma"]).any()
    assert (floors["measured"] > 0).all()
    few = {"topologies": ("ring",), "workers": (4,), "p": (0.9,), "floor_dimension": 1}
    with pytest.raises(UserError, match="floor_gamma: 1e-09 .* p = 0.9 on 4 workers takes"):
        table_of("floors", replace(OPTIONS, floor_gamma=(1e-9,), **few))


def test_a_smaller_p_may_be_slower_from_a_distant_start():
    """The coupling is bounded for p = 1/2: of four starts, one of them is slower than linear."""
    measured = small_rows("orders")
    times = measured.pivot(index="seed", columns="p", values="time")
    assert (times[1] < times[2]).all()
    assert times[1].nunique() == 4
    assert (times[0.5] > times[1]).tolist() == [True, False, False, False]
    assert asked("theory_order", "orders", measured)["met"].tolist() == [False, True, True, True]


def test_linear_coupling_is_straight_and_what_is_not_exponential_is_not():
    assert small_rows("logs")["measured"].max() < 1e-3
    fall, t = np.linspace(0, -27, 200), np.linspace(0, 1, 200)
    for bent in (1 - np.exp(fall / 4), np.exp(-fall / 4) - 1):  # finite time, algebraic
        assert distance_from_line(bent, fall) > 0.05
    fast_start = np.log(np.exp(-30 * t) + np.exp(-200 * t))
    assert distance_from_line(t, fast_start) < 1e-3


def test_the_slowest_signal_has_the_speed_of_its_graph():
    switches = small_rows("switches").set_index("signal")
    assert switches.loc["slowest", "rate"] == pytest.approx(switches.loc["slowest", "limit"])
    random = switches.loc["random"]
    assert random["rate"].nunique() == len(random) == 3
    assert (random["rate"] > random["limit"]).all()
    apart = torch.tensor([1.0, -1.0], dtype=torch.float64)
    none = torch.eye(2, dtype=torch.float64)
    assert rate([TWO, none], [1.0, 3.0], apart) == pytest.approx(0.25)  # λ₂ = 1, then 0


def test_a_linear_coupling_tolerates_the_limit_and_a_sublinear_one_less():
    delays = small_rows("delays")
    linear, sublinear = delays[delays["p"] == 1], delays[delays["p"] < 1]
    assert ((linear["tolerated"] - linear["limit_of_rounds"]).abs() <= linear["gamma"]).all()
    assert (linear["residual"] < 1e-6).all()
    assert (sublinear["tolerated"] < 0.7 * sublinear["limit_of_rounds"]).all()
    rows = table(
        "p residual floor",
        (0.75, 1.9e-3, 1e-3), (0.75, 2.1e-3, 1e-3), (0.75, 5e-7, 1e-20), (1.0, 1e-9, 1e-20),
    )  # fmt: skip
    for name, arguments, met in (
        ("theory_delay_residual", {}, [False, False, True]),
        ("theory_delay_residual", {"linear": True}, [True]),
        ("theory_delay_floor", {}, [True, False, True]),
    ):
        assert asked(name, "delays", rows, **arguments)["met"].tolist() == met


@pytest.mark.parametrize(
    ("at_limit", "closed", "opened"),
    [(1.0, [True, False], [True, True]), (1e-9, [True, True], [True, False])],
)
def test_only_one_of_the_two_forms_can_hold_at_the_limit(at_limit, closed, opened):
    rows = table("delay share residual", (5, 0.9, 1e-9), (5, 1.0, at_limit))
    for form, met in (("closed", closed), ("open", opened)):
        assert asked("theory_delay_marginal", "marginal", rows, form=form)["met"].tolist() == met


def gaps(method="gossip", **columns):
    steps = {"T": [1, 10, 100, 1000], "gap": [5.0, 0.5, 0.05, 0.001], "V": 0.1}
    known = {"topology": "ring", "distance": 3.0, "method": method, "n": 5}
    return pd.DataFrame({**known, **steps, "bound": 6.0, "printed": 4.0, **columns})


def test_gaps_are_judged_by_a_bound_in_its_form_from_its_least_t_and_must_fall():
    printed = {"method": "gossip", "form": "printed"}
    actual = asked("theory_bound", "gaps", gaps(), **printed)
    assert actual["met"].tolist() == [False, True, True, True]
    assert asked("theory_bound", "gaps", gaps(), method="gossip", form="amended")["met"].all()
    late = asked("theory_bound", "gaps", gaps(printed=0.01), **printed, least_T=100)
    assert late["met"].tolist() == [False, True]
    with pytest.raises(UserError, match="^form: 'print' is unknown; allowed: amended, printed"):
        asked("theory_bound", "gaps", gaps(), method="gossip", form="print")
    with pytest.raises(UserError, match="^cases: no row is left"):
        asked("theory_bound", "gaps", gaps(), method="ngo", form="printed")
    assert not asked("theory_index_vanishes", "gaps", gaps("ngo"))["met"].any()
    assert asked("theory_index_vanishes", "gaps", gaps("ngo", V=0.0))["met"].all()
    rows = pd.concat([gaps("ngo"), gaps(gap=[5.0, 1, 0.5, 0.3]), gaps("centralized", gap=1.0)])
    actual = asked("theory_convergence", "gaps", rows).set_index("case")["met"]
    cases = [f"method {name}, topology ring, distance 3" for name in ("gossip", "ngo")]
    assert actual.to_dict() == dict(zip(cases, (False, True), strict=True))


def test_the_left_side_of_the_descent_lemma_is_the_mean_over_simulated_steps():
    problem, eta, batch = curved_problem(OPTIONS, 2), 0.02, 3
    assert (problem.mu, problem.L) == pytest.approx((1, 10))
    X = torch.tensor([[[0.7]], [[-0.4]]], dtype=torch.float64)
    left, right = sides(problem, X, eta, batch)
    draws, source = 200_000, torch.Generator().manual_seed(0)
    batches = torch.randint(problem.A.shape[1], (2, draws, batch), generator=source)
    moved = X.expand(2, draws, 1) - eta * problem.gradient(X.expand(2, draws, 1), batches)
    squares = (moved.mean(0) - problem.optimum).square().sum(-1)
    error = float(squares.std()) / draws**0.5
    assert float(left) == pytest.approx(float(squares.mean()), abs=4 * error)
    assert right["printed"] < right["supplement"]  # L is larger than Lη
    worst = small_rows("descents").groupby("form")[["broken"]].max()["broken"]
    assert worst["printed"] > 0.05
    assert worst["supplement"] == 0


def test_more_workers_have_a_smaller_gap():
    actual = small_rows("speedup").pivot(index="seed", columns="n", values="gap")
    assert actual.shape == (3, 2)
    assert (actual[8] < actual[2]).all()
    rows = [(s, n, 3 * n**power) for s, power in ((4, -1.0), (5, -0.5)) for n in (2, 4, 16)]
    slopes = asked("theory_speedup_slope", "speedup", table("seed n gap", *rows))
    assert slopes.to_dict() == pytest.approx({4: -1, 5: -0.5})


def test_methods_of_a_seed_share_the_problem_and_are_followed_until_terms_settle():
    races = small_rows("races")
    first = races[races["T"] == 1].pivot(index="seed", columns="method", values="gap")
    assert first.shape == (3, 4)
    assert np.allclose(first.max(axis=1), first.min(axis=1))
    last = races[races["T"] == 200].pivot(index="seed", columns="method", values="sync_term")
    assert (last["centralized"] < 1e-20).all()
    assert (last["synchronized"] < last["ngo"]).all()
    assert (last["ngo"] < last["gossip"]).all()
    longer = table_of("races", replace(OPTIONS, trials=1, leading_steps=400))
    ends = longer.groupby("method")["T"].max().to_dict()
    assert ends == {"centralized": 200, "synchronized": 200, "gossip": 400, "ngo": 200}
    short = small_rows("races").query("seed == 0").reset_index(drop=True)
    pd.testing.assert_frame_equal(longer[longer["T"] <= 200].reset_index(drop=True), short)
    ratios = [asked("theory_gap_ratio", "races", rows) for rows in (longer, short)]
    pd.testing.assert_series_equal(*ratios)


def races(sync_term=0.01, **of):
    """Gaps by method at the last T; those of an earlier T are all 1."""
    both = [(m, T, gap if T == 9 else 1.0) for m, gap in of.items() for T in (1, 9)]
    rows = [(m, 3, T, gap, 1.0, sync_term) for m, T, gap in both]
    return table("method seed T gap noise_term sync_term", *rows)


def test_gaps_are_compared_within_a_seed_at_the_last_t():
    rows = races(centralized=1.0, synchronized=1.2, gossip=2.0, ngo=1.0)
    assert asked("theory_gap_ratio", "races", rows).to_dict() == pytest.approx({3: -np.log(2)})
    near = asked("theory_synchronized_gap", "races", rows)
    assert near.to_dict() == pytest.approx({3: np.log(1.2)})
    apart = races(centralized=1.0, synchronized=1.2, sync_term=0.2)  # not synchronized
    assert asked("theory_synchronized_gap", "races", apart).isna().all()
