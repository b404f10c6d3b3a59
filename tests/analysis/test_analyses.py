"""Analyses of the tables of runs, against values by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused
from made_up import TABLE1, TABLE_A2, by_gamma, cell, combinations, metrics, rounds, run, tuned_runs
from made_up import TABLE_S1 as REFERENCE
from made_up import seeds_of as rows
from made_up import trajectories as simulated

from ngo.analysis import comparisons, seed_means
from ngo.analysis.best_in_rounds import MIXER, TUNED, best_rows, with_mixers
from ngo.analysis.best_in_training import combination_table, with_parts
from ngo.analysis.budgets import SAME, at_budgets, at_equal, crossing, shared_steps, time_to
from ngo.analysis.comparisons import ACCURACY, published_for
from ngo.analysis.consensus import delay_limit_in_rounds, spectral_comparison
from ngo.analysis.seed_means import check_apart, pooled_correlation, within_seeds
from ngo.analysis.universes import Universe, in_universes
from ngo.measures.spectra import SpectraOptions, spectral_table
from verdicts import final

T_3 = 4.302653 / math.sqrt(3)  # half-width of three values with standard deviation 1


def test_a_graph_has_its_limit_of_the_delay():
    delayed = simulated((1.0,), (0,), rounds=1)
    # A ring's λ_n is (1/3)(2 − 2 cos π) = 4/3 for even n, a complete graph's 1.
    assert delay_limit_in_rounds(delayed) == pytest.approx(math.pi / (2 * 4 / 3) / 0.02)
    complete = delayed.assign(topology="complete")
    assert delay_limit_in_rounds(complete) == pytest.approx(math.pi / 0.04)
    assert delay_limit_in_rounds(delayed.assign(topology="random")) == math.inf


def runs():
    steps = {"step": [10, 0], "consensus_accuracy": [0.9, 0.1], "workers_accuracy_mean": [0.8, 0.1]}
    return pd.concat([pd.DataFrame({"run": run, **steps}) for run in "ab"], ignore_index=True)


def test_a_run_has_rows_in_each_of_its_universes_and_the_accuracy_that_they_choose():
    universes = [Universe(0, {"p": 0.9, "lr": 0.1}, ("a",)), Universe(3, {"p": 0.7}, ("a", "b"))]
    table = in_universes(runs(), universes)
    assert [*table["universe"]] == [0, 0, 3, 3, 3, 3]
    assert [*table["run"]] == [*"aa", *"aabb"]
    assert [*table["step"]] == [0, 10] * 3
    assert [*table["universe_p"]] == [0.9, 0.9, 0.7, 0.7, 0.7, 0.7]
    assert "chosen_accuracy" not in table
    of = [Universe(0, {"accuracy_of": "workers"}, ("a",))]
    of += [Universe(1, {"accuracy_of": "mean"}, ("a",))]
    table = in_universes(runs(), of)
    ends = table[table["step"] == 10]
    assert np.allclose(ends["chosen_accuracy"], [0.8, 0.9])
    assert [*ends["universe_accuracy_of"]] == ["workers", "mean"]
    of = [Universe(0, {"loss_of": "train"}, ("a",)), Universe(1, {"loss_of": "mean"}, ("a",))]
    losses = {"train_loss": 0.3, "consensus_loss": 0.5, "workers_loss_mean": 0.6}
    table = in_universes(runs().assign(**losses), of)
    assert [*table["chosen_loss"]] == [0.3, 0.3, 0.5, 0.5]


def test_the_chatter_floor_and_the_gap_of_a_universe_follow_from_its_graphs():
    """log(γw)/(2 − 2p) and γ(1 − λ₂): w is 1/2 for two workers, 1/3 on a ring, 1/10 if complete."""
    graphs = {"two": ("complete", 2), "ring": ("ring", 10), "whole": ("complete", 10)}
    ones = [(name, 0.75, *graph, 0) for name, graph in graphs.items()]
    others = [("linear", 1.0, "ring", 4, 0), ("alone", math.nan, None, 10, 0)]
    runs = pd.DataFrame([*ones, *others], columns=["run", "p", "topology", "workers", "step"])
    of = [("two", "linear", "alone"), ("ring",), ("whole",), ("ring", "whole")]
    universes = [Universe(k, {"gamma": 0.6, "p": 0.75}, own) for k, own in enumerate(of)]
    found = in_universes(runs, universes).drop_duplicates("universe")
    ring = 2 / 3 * (1 - math.cos(math.pi / 5))
    floors = 2 * np.log([0.3, 0.2, 0.06, math.sqrt(0.2 * 0.06)])
    assert np.allclose(found["universe_chatter_floor"], floors)
    assert np.allclose(found["universe_gamma_gap"], 0.6 * np.array([1, ring, 1, (1 + ring) / 2]))


def test_without_sampled_gamma_or_p_there_is_no_chatter_floor():
    one = pd.DataFrame({"run": ["a"], "p": [0.9], "topology": ["ring"], "workers": [4], "step": 0})
    assert "universe_gamma_gap" in (only := in_universes(one, [Universe(0, {"gamma": 1}, ("a",))]))
    assert "universe_chatter_floor" not in only
    assert "universe_gamma_gap" not in in_universes(one, [Universe(0, {"p": 0.9}, ("a",))])
    centralized = in_universes(one.assign(p=math.nan), [Universe(0, {"gamma": 1}, ("a",))])
    assert "universe_gamma_gap" not in centralized


def best_of_each(V):
    rows = best_rows(with_mixers(rounds(V)), "V_settled")
    return rows.drop_duplicates([*MIXER, *TUNED]).set_index("mixer")


def test_each_mixer_has_the_gamma_with_the_lowest_V():
    found = best_of_each(by_gamma)
    assert len(found) == 6
    assert found.loc["linear", "gamma"].tolist() == [1, 1]
    assert found.loc["NGO", ["gamma", "p"]].to_numpy().tolist() == [[0.5, 0.75]] * 2
    assert found.loc["capped", "gamma"].tolist() == [1, 1]


def test_values_are_of_the_seeds_that_did_not_choose():
    """With seeds 4 to 7 ten times better at γ = 0.5, the choice of seeds 0 to 3 stays."""

    def V(coupling, p, gamma, seed):
        return by_gamma(coupling, p, gamma, seed) / (10 if gamma == 0.5 and seed > 3 else 1)

    chosen = best_rows(with_mixers(rounds(V)), "V_settled")
    assert set(chosen["seed"]) == {4, 5, 6, 7}
    assert set(chosen.loc[chosen["mixer"] == "linear", "gamma"]) == {1.0}


def test_a_case_that_diverges_comes_last():
    def V(coupling, p, gamma, seed):
        return np.nan if coupling == "capped" and gamma == 1 and seed == 2 else 1.0

    found = best_of_each(V)
    assert set(found.loc["capped", "gamma"]) == {0.5}


@cases(
    "dataset, reference, column, number",
    ("mnist", TABLE1, "test_accuracy_percent", 64.84),
    ("digits", TABLE1, "test_accuracy_percent", 64.84),  # stands in for MNIST
    ("cifar10", TABLE1, "test_accuracy_percent", 34.14),
    ("sine", TABLE1, "test_accuracy_percent", math.nan),
    ("mnist", TABLE_A2, "value", 0.50),  # there are numbers of CIFAR-10 alone
)
def test_the_papers_number_beside_ours(dataset, reference, column, number):
    rows = pd.DataFrame(cell("ring", "ngo", [0.5], partition="shards", dataset=dataset)[-1:])
    assert published_for(rows, reference, column).tolist() == pytest.approx([number], nan_ok=True)


def test_two_runs_of_one_seed_are_not_seeds():
    runs = pd.DataFrame([*run(0.5, lr=0.1)[-1:], *run(0.5, lr=0.2)[-1:]])
    check_apart(runs, ["method", "lr"])
    refused(r"method and seed alone, but there are 0.1-0, 0.2-0;", check_apart, runs, ["method"])


def test_table_s1_agrees_with_the_papers_digits():
    ours = spectral_table(SpectraOptions(topology=("ring", "random", "complete"), draws=3))
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


@cases(
    "degree, draws, printed, true",
    (25.2, 400, "no", "yes"),
    (25.6, 400, "yes", "no"),
    (25.4, 10, "undecided", "undecided"),  # 10 draws are within 0.87 of u(n − 1), and of un
)
def test_a_random_graphs_degree_is_judged_by_its_standard_error(degree, draws, printed, true):
    facts = {"topology": "random", "u": 0.4, "n": 64, "draws": draws, "degree": degree}
    graph = pd.DataFrame([{**facts, "spectral_gap": 0.5}])
    (row,) = spectral_comparison(graph, REFERENCE).to_dict("records")
    assert (row["paper_degree"], row["true_degree"]) == ("un", "u(n-1)")
    assert (row["degree_agrees"], row["true_degree_agrees"]) == (printed, true)


def test_within_seeds_against_numpy():
    V, accuracy = np.exp(np.random.default_rng(0).standard_normal((2, 4, 5)))
    seeds = np.repeat(range(4), 5)
    ends = pd.DataFrame({"seed": seeds, "V": V.ravel(), "accuracy": accuracy.ravel()})
    by_seed = within_seeds(ends, "accuracy")
    for seed in range(4):
        r = np.corrcoef(np.log(V[seed]), accuracy[seed])[0, 1]
        slope = np.polyfit(np.log(V[seed]), accuracy[seed], 1)[0]
        found = by_seed.loc[seed, ["r", "z", "slope"]].tolist()
        assert found == pytest.approx([r, math.atanh(r), slope])
    pooled = pooled_correlation(by_seed)
    assert pooled.r == pytest.approx(math.tanh(by_seed["z"].mean()))
    assert -1 <= pooled.low < pooled.r < pooled.high <= 1
    assert pooled.seeds == 4


def test_a_method_is_its_parts_and_each_is_at_its_best():
    parts = with_parts(combinations())[["method", "local_rule", "p", "algorithm", "mixer"]]
    found = {tuple(row)[3:] for row in parts.dropna().itertuples(index=False, name=None)}
    methods = ("sgd", "momentum", "d2")
    assert found == {(method, mixer) for method in methods for mixer in ("linear", "NGO", "capped")}
    both = with_parts(combinations().assign(local_rule="momentum"))
    assert set(both["algorithm"]) == {"momentum", "d2 + momentum", "centralized + momentum"}
    table = combination_table(combinations()).set_index(["algorithm", "mixer"])
    assert (table.loc[("sgd", "linear"), ["gamma", "p", "lr"]] == [0.4, 1, 0.05]).all()
    assert np.isclose(table.loc[("momentum", "linear"), "accuracy"], 71.5)
    gains = table["gain"].dropna()
    assert np.allclose(gains[("sgd", "NGO")], 3)
    assert np.allclose(gains[("momentum", "capped")], 5)
    assert np.allclose(gains[("d2", "capped")], 0)
    assert len(gains) == 6
    assert (table["diverged"] == 0).all()


def test_gamma_is_chosen_by_held_out_accuracy_alone():
    """Gossip ties at 0.1 and 0.3: the smaller one. NGO at 1 has a diverged run: it comes last."""
    tuned = tuned_runs()
    best = comparisons.best_settings(comparisons.tuning_grid(tuned)).set_index("method")
    assert best.index.tolist() == ["centralized", "gossip", "ngo"]
    assert best["gamma"].tolist() == pytest.approx([math.nan, 0.1, 0.3], nan_ok=True)
    assert best["held_out"].tolist() == pytest.approx([80, 60, 70])
    assert best.loc["gossip", "edge"] == "smallest"
    assert best.loc[["centralized", "ngo"], "edge"].isna().all()
    assert best["p_edge"].fillna("-").tolist() == ["-", "-", "largest"]

    # seeds that were added at some values choose none of them
    chosen = tuned[(tuned["method"] == "gossip") & (tuned["gamma"] == 0.1)]
    added = chosen.assign(seed=chosen["seed"] + 100, run=chosen["run"] + "+", holdout_accuracy=0)
    grid = comparisons.tuning_grid(pd.concat([tuned, added], ignore_index=True))
    again = comparisons.best_settings(grid)
    columns = ["gamma", "held_out"]
    pd.testing.assert_frame_equal(again.set_index("method")[columns], best[columns])
    assert again["seeds"].max() == 2 * best["seeds"].max()


def test_table1_sets_ours_beside_the_papers():
    rows = cell("ring", "ngo", [0.91, 0.94, 0.97]) + cell("ring", "gossip", [0.90, 0.92, 0.94])
    rows += cell(None, "centralized", [0.97, 0.98, 0.99])
    table = comparisons.comparison_table(pd.DataFrame(rows), TABLE1, [ACCURACY])
    assert table["method"].tolist() == ["centralized", "gossip", "ngo"]
    assert table["paper"].tolist() == [97.47, 96.47, 96.52]
    assert table["consensus"].tolist() == pytest.approx([98, 92, 94])
    assert table["workers"].tolist() == pytest.approx([93, 87, 89])
    assert table["consensus_minus_paper"].tolist() == pytest.approx([0.53, -4.47, -2.52])
    assert table["seeds"].tolist() == [3, 3, 3]
    assert (table["classes_min"].iloc[0], table["classes_max"].iloc[0]) == (8, 10)
    # Differences 1, 2, 3: mean 2, standard deviation 1; only NGO's row has them.
    assert table["ngo_minus_gossip"].isna().tolist() == [True, True, False]
    assert table["ngo_minus_gossip"].iloc[2] == pytest.approx(2)
    assert table["ngo_minus_gossip_ci95"].iloc[2] == pytest.approx(T_3, rel=1e-6)
    rows = cell("ring", "gossip", [0.9] * 3) + cell("ring", "ngo", [0.9, 0.1, 0.9], diverged=[1])
    table = comparisons.comparison_table(pd.DataFrame(rows), TABLE1, [ACCURACY])
    assert (table["diverged"].tolist(), math.isnan(table["consensus"].iloc[1])) == ([0, 1], True)


def course(V_of_seeds, step=10):
    """Evaluations of a run for each seed: V after 0, ``step``, 2 ``step`` …; NaN ends a run."""
    runs = []
    for seed, V in enumerate(V_of_seeds):
        steps = {"seed": seed, "step": np.arange(len(V)) * (step + seed), "V": V}
        runs.append(pd.DataFrame({"run": f"r{seed}", "method": "ngo", **steps}))
    return pd.concat(runs, ignore_index=True).assign(diverged=lambda rows: rows["V"].isna())


def test_points_against_a_t_table():
    found = seed_means.points(rows([11.0, 12.0, 13.0], name="accuracy"), ["method"], ["accuracy"])
    point = found.iloc[0]
    assert (point["mean"], point["seeds"], point["diverged"]) == (12, 3, 0)
    assert [point["low"], point["high"]] == pytest.approx([12 - T_3, 12 + T_3], rel=1e-6)
    values = rows([1.0, math.inf, math.nan, 4.0], diverged=[3])
    point = seed_means.points(values, ["method"], ["V"]).iloc[0]
    assert (point["mean"], point["seeds"], point["diverged"]) == (1, 1, 3)


def test_the_mean_V_is_over_the_steps_so_far_and_not_of_the_start():
    found = seed_means.with_mean_V(course([[9.0, 2.0, 4.0], [3.0, math.nan]]))["V_mean"].tolist()
    assert found[1:3] == [2, 3]
    assert np.isnan([found[0], *found[3:]]).all()
    uneven = course([[9.0, 2.0, 4.0]]).assign(step=[0, 10, 40])
    assert seed_means.with_mean_V(uneven)["V_mean"].tolist()[1:] == [2, 3.5]


def test_evaluations_are_matched_by_their_number_and_what_ended_stays_diverged():
    table = seed_means.along(course([[0, 2, 4], [0, 8, 16]]), ["method"], "step", ["V"])
    assert table["step"].tolist() == [0, 10.5, 21]  # seeds own unequal numbers of samples
    assert table["mean"].tolist() == pytest.approx([0, 4, 8])
    table = seed_means.along(course([[0, 2, math.nan], [0, 2, 3, 5]]), ["method"], "step", ["V"])
    assert table["diverged"].tolist() == [0, 0, 1, 1]
    assert table["mean"].tolist() == pytest.approx([0, 2, 3, 5])


def two(share=0.5, **other):
    """Gossip, and NGO that sends a ``share`` as much; both at 10, 80 and 70 %."""
    frugal = run(0.7, method="ngo", **other)
    frugal = [{**row, "bytes_sent": row["bytes_sent"] * share} for row in frugal]
    return metrics(run(0.7, method="gossip"), frugal)


def at(table, value):
    return table.set_index("method")[value].to_dict()


def test_runs_are_compared_after_equal_bytes_or_steps():
    table = at_equal(two(0.5), "bytes_sent", ["consensus_accuracy", "V"], SAME)
    assert at(table, "consensus_accuracy") == pytest.approx({"gossip": 0.8, "ngo": 0.7})
    quarter = at_equal(two(0.25), "bytes_sent", ["consensus_accuracy"], SAME)
    # A quarter of gossip's two intervals: halfway between 10 and 80 %.
    assert at(quarter, "consensus_accuracy") == pytest.approx({"gossip": 0.45, "ngo": 0.7})
    assert quarter["budget"].nunique() == 1
    shorter = [{**row, "step": row["step"] * 3 // 4} for row in run(0.7, method="ngo")]
    rows = metrics(run(0.7, method="gossip"), shorter)
    assert shared_steps(rows) == 15
    table = at_budgets(rows, final(rows).assign(budget=15), "step", ["consensus_accuracy"])
    assert at(table, "consensus_accuracy") == pytest.approx({"gossip": 0.75, "ngo": 0.7})


def losses_of(name, losses, *, diverged=False):
    """An evaluation every quarter of an epoch, 60 steps."""
    frame = pd.DataFrame({"consensus_loss": losses, "step": 60 * np.arange(len(losses))})
    frame = frame.assign(run=name, epoch=frame["step"] / 240, diverged=diverged)
    return frame.assign(consensus_accuracy=1 - frame["consensus_loss"])


def test_a_crossing_is_linear_between_evaluations():
    x, y = np.array([0.0, 1, 2, 3]), np.array([0.1, 0.5, 0.4, 0.9])
    assert crossing(x, y, 0.3) == pytest.approx(0.5)
    assert crossing(x, y, 0.5) == 1
    assert crossing(x, y, 0.1) == 0
    assert crossing(x, y, 0.95) == math.inf
    assert crossing(x, np.array([0.1, math.nan, 0.4, 0.9]), 0.4) == 2


def test_a_count_whose_share_is_a_target_in_percent_reaches_it():
    """94 · 0.01 is not 0.94 in floats: counts of samples decide, for all targets 0.1 … 99.9."""
    for count in range(1, 1000):
        x, y = np.array([0.0, 1.0]), np.array([(count - 1) / 1000, count / 1000])
        assert crossing(x, y, count / 10 * 0.01) == pytest.approx(1), count
        assert crossing(x, y - 1 / 1000, count / 10 * 0.01) == math.inf, count


def test_a_loss_falls_to_its_target_and_an_accuracy_rises():
    lost = losses_of("c", [0.9, 0.3, 0.3, math.nan], diverged=True)
    metrics = losses_of("a", [0.9, 0.7, 0.3, 0.6]), losses_of("b", [0.9, 0.8, 0.7, 0.6]), lost
    metrics = pd.concat(metrics)
    epochs = time_to(metrics, 0.5, "consensus_loss")
    assert epochs["a"] == pytest.approx(0.375)
    assert epochs[["b", "c"]].tolist() == [math.inf, math.inf]  # too late, diverged
    assert time_to(metrics, 0.5, "consensus_accuracy", "step")["a"] == pytest.approx(90)
