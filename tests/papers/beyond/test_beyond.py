"""What the project's second paper draws."""

import math

import numpy as np
import pandas as pd
import pytest
from cases import refused
from figure_files import drawn, functions, made
from made_up import by_gamma, combinations, rounds
from runs import digits_run

from ngo.analysis.best_in_rounds import comparison, with_theory
from ngo.analysis.network_time import NetworkModel, priced
from ngo.analysis.table_files import class_counts
from ngo.data.heterogeneity import hellinger_to_global
from ngo.data.partition import samples_by_class
from ngo.training.partition_file import write
from ngo.training.spec_checks import draw

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]
N, ROW, STEPS = 4, 1000.0, np.arange(0, 101, 20)
CASES = {
    "linear, ring": {"method": "gossip", "topology": "ring", "p": 1.0, "messages": 8},
    "NGO, ring": {"method": "ngo", "topology": "ring", "p": 0.8, "messages": 8},
    "linear, complete": {"method": "gossip", "topology": "complete", "p": 1.0, "messages": 12},
    "local_sgd linear, H = 5, ring": {
        "method": "local_sgd", "topology": "ring", "p": 1.0, "messages": 8 / 5, "local_steps": 5,
    },
    "centralized": {
        "method": "centralized", "topology": None, "p": math.nan, "gamma": math.nan,
        "coupling": None, "messages": 8,
    },
}  # fmt: skip
SPEED = dict(zip(CASES, (0.5, 0.7, 0.8, 0.6, 0.9), strict=True))


def prices(seeds=3):
    """Accuracy rises to its case's ``SPEED`` in a line; γ = 0.4 is better than 0.2."""
    rows = []
    for case, fields in CASES.items():
        for gamma in (math.nan,) if case == "centralized" else (0.2, 0.4):
            for seed in range(seeds):
                for t in STEPS:
                    accuracy = SPEED[case] * t / 100 * (0.9 if gamma == 0.2 else 1)
                    sent = fields["messages"] * t
                    rows.append(
                        {
                            "run": f"{case}-{gamma}-{seed}", "dataset": "mnist",
                            "partition": "shards", "workers": N, "local_rule": "sgd",
                            "coupling": "power", "local_steps": 1, "delay": 0, "lr": 0.05,
                            "gamma": gamma, "seed": seed, "step": t, "epoch": t / 10,
                            "diverged": False, "consensus_accuracy": accuracy,
                            "holdout_accuracy": accuracy, "consensus_loss": 1 - accuracy,
                            "workers_loss_mean": 1 - accuracy, "bytes_sent": sent * ROW,
                            "classes_covered": 10, **fields, "messages": sent,
                        }
                    )  # fmt: skip
    return pd.DataFrame(rows)


def test_training_that_is_disturbed_has_a_row_for_each_disturbance(tmp_path):
    some = combinations().assign(link_failure=0.3)
    runs = pd.concat([combinations(), some.assign(run=some["run"] + "-lossy")])
    (printed,) = made(
        "beyond/disturbed", tmp_path, metrics=runs[runs["local_rule"].eq("sgd")]
    ).tables
    assert set(printed["Disturbance"]) == {"none", "failing links, 30%"}


def runs():
    """The workers are 5 points below their mean, and V grows with step and seed."""
    rows = prices()
    workers = rows["consensus_accuracy"] - 0.05
    return rows.assign(workers_accuracy_mean=workers, V=rows["step"] * (1.0 + rows["seed"]))


def test_the_figure_and_the_table_are_saved(tmp_path):
    (printed,) = made("beyond/merge", tmp_path, metrics=runs()).tables
    assert printed["Gain of merging"].str.startswith("+5.00").all()
    assert len(printed) == 4


def test_the_figure_and_the_table_of_methods_are_saved(tmp_path):
    other = combinations().assign(dataset="cifar10", run=lambda rows: rows["run"] + "-10")
    (printed,) = made("beyond/methods", tmp_path, mnist=combinations(), cifar10=other).tables
    rows = printed[printed["Data"] == "mnist"].set_index(["Algorithm", "Mixing"])
    assert rows.loc[("momentum", "capped"), "Gain"].startswith("+5.00")
    assert rows.loc[("momentum", "linear"), ["Gain", "Best γ"]].tolist() == ["–", "0.4 of 0.2, 0.4"]
    assert rows.loc[("centralized", "–"), ["Best p", "Sent"]].tolist() == ["–", "1.0 MB"]
    assert len(pd.read_csv(tmp_path / "tables/methods.csv")) == len(printed) == 20


NETWORKS = {"near": NetworkModel(0, 1e9, 1), "far": NetworkModel(0.5, 2000, 0)}
NETWORK = {"far": {"latency": 0.5, "bandwidth": 2000, "step": 0}}


def test_the_figure_and_the_table_of_price_are_saved(tmp_path):
    inputs = {"network": NETWORK, "target_accuracy": 0.55}
    (printed,) = made("beyond/price", tmp_path, metrics=prices(), **inputs).tables
    rows = printed.set_index("Case")
    assert set(rows.index) == set(CASES)
    assert rows.loc["NGO, ring", ["MB by a worker", "far, s", "Reached"]].tolist() == [
        "0.157", "118", "3 of 3",
    ]  # fmt: skip
    assert rows.loc["linear, ring", ["MB by a worker", "Reached"]].tolist() == ["–", "0 of 3"]
    caption = (tmp_path / "tables/price_to_target.md").read_text()
    assert "Far: 0.5 s of latency, 0.002 MB/s, 0 s for a gradient step." in caption


def test_a_config_without_a_network_is_refused():
    refused("network: the config names none", drawn, "beyond/price", prices(), {}, 0.5)


def test_each_case_has_its_costs_at_its_best_gamma():
    actual = priced(prices(), NETWORKS)
    assert actual["gamma"].dropna().unique().tolist() == [0.4]
    last = actual[actual["step"] == 100].drop_duplicates("case").set_index("case")
    assert last.loc["linear, ring", "sent_per_worker"] == 8 * 100 * ROW / N
    assert np.isclose(last.loc["linear, ring", "near"], 100, rtol=1e-3)
    assert np.isclose(last.loc["linear, ring", "far"], 100 * (1 + 0.5))
    assert np.isclose(last.loc["centralized", "far"], 100 * (4 + 1))


def parts():
    """Runs at two β, and their partitions: one class each, and the same shares everywhere."""
    runs = [combinations().assign(beta=beta, partition="dirichlet_min") for beta in (0.1, 10.0)]
    runs = [table.assign(run=table["run"] + f"-{k}") for k, table in enumerate(runs)]
    counts = [
        {
            "dataset": "mnist", "partition": "dirichlet_min", "beta": beta, "workers": 2, "seed": 0,
            "worker": worker, "label": label,
            "samples": 10 * (worker == label) if beta < 1 else 5,
        }
        for beta in (0.1, 10.0) for worker in (0, 1) for label in (0, 1)
    ]  # fmt: skip
    return pd.concat(runs, ignore_index=True), pd.DataFrame(counts)


def test_the_figure_and_the_table_of_skew_are_saved(tmp_path):
    runs, counts = parts()
    (printed,) = made("beyond/skew", tmp_path, metrics=runs, classes=counts).tables
    rows = printed.set_index(["β", "Algorithm", "Mixing"])
    assert rows.loc[("10", "sgd", "NGO"), ["Hellinger", "Entropy"]].tolist() == ["0.000", "0.693"]
    assert rows.loc[("0.1", "sgd", "NGO"), ["Hellinger", "Entropy"]].tolist() == ["0.541", "0.000"]
    assert rows.loc[("0.1", "momentum", "capped"), "Gain"].startswith("+5.00")
    caption = (tmp_path / "tables/skew.md").read_text().partition("\n")[0]
    assert caption.endswith("; 4 seeds.")  # of the runs, not of the partitions


def test_a_row_for_each_partition_with_its_fields_and_measures(digits, tmp_path):
    specs = [
        *(digits_run(partition="dirichlet", beta=beta, batch_size=1) for beta in (0.1, 1.0, 10.0)),
        digits_run(),
    ]
    drawn = [draw(spec, digits.labels) for spec in specs]
    for k, spec in enumerate(specs):
        write(tmp_path / f"{k}.parquet", [spec], tmp_path)
    counts = class_counts(tmp_path / f"{k}.parquet" for k in range(4))
    partitions = counts.groupby(["partition", "beta"], dropna=False)[["worker", "label", "samples"]]
    actual = partitions.apply(functions("beyond/skew").heterogeneity).reset_index()
    assert actual["partition"].tolist() == [spec.partition for spec in specs]
    assert actual["beta"].tolist()[:3] == [0.1, 1.0, 10.0]
    assert np.isnan(actual["beta"][3])
    wanted = [hellinger_to_global(samples_by_class(digits.labels, parts, 10)) for parts in drawn]
    assert actual["hellinger"].tolist() == pytest.approx(wanted)
    assert (np.diff(actual["hellinger"][:3]) < 0).all()
    assert (np.diff(actual["label_entropy"][:3]) > 0).all()


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


def test_the_figure_and_the_table_of_finite_time_are_saved(tables, tmp_path):
    output = made("beyond/finite_time", tmp_path, **tables)
    shown = pd.read_csv(tmp_path / "figures/finite_time.csv")
    assert set(shown["topology"]) == {"ring", "alternating_matching", "base_graph"}
    (printed,) = output.tables
    rows = printed.set_index(["Disturbance", "Graph", "Mixing"])
    assert len(rows) == 2 * 3 * 2 + 1
    assert rows.loc[("drift 0.1", "ring", "NGO"), "V / linear"].startswith("4.00e+00 [")
    assert rows.loc[("none", "base_graph", "linear"), "Best γ"] == "1"


def test_the_comparison_with_linear_gossip_is_paired_by_seed():
    actual = comparison(rounds(by_gamma), "V_settled")
    actual = actual.set_index(["disturbance", "mixer"])
    levels = 1 + 0.1 * np.array([4, 5, 6, 7])
    assert np.isclose(actual.loc[("drift", "linear"), "mean"], 2 * np.exp(np.log(levels).mean()))
    assert np.isclose(actual.loc[("drift", "NGO"), "ratio_mean"], 4)
    assert np.isclose(actual.loc[("drift", "capped"), "ratio_mean"], 0.5)
    assert (actual["seeds"] == 4).all()


COUNT, T = 10, 8
# Eigenvalues of I − W on a ring of ten with weights 1/3, but the first.
LAPLACE = [2 / 3 * (1 - math.cos(2 * math.pi * k / COUNT)) for k in range(1, COUNT)]


def theory(mixer, topology="ring", gamma=1.0, p=1.0, V0=900.0):
    row = pd.DataFrame([{"mixer": mixer, "topology": topology, "p": p, "gamma": gamma}])
    (actual,) = with_theory(row, COUNT, T, V0).to_dict("records")
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
    assert means == pytest.approx(900 * math.cos(2 * math.pi / COUNT) ** (2 * T - 2), rel=1e-9)
    assert longer < means / 10


def test_the_time_of_NGO_is_that_of_the_theorem_and_of_no_other_mixer():
    """At p = 1/2, T* = 2 V(0)^(1/2) / (√2 γ λ₂(L(B))^(1/2)), B = W²."""
    bound, time = theory("NGO", gamma=0.5, p=0.5)
    connectivity = 2 / 9 * (1 - math.cos(2 * math.pi / COUNT))
    assert time == pytest.approx(2 * 30 / (math.sqrt(2) * 0.5 * math.sqrt(connectivity)))
    assert math.isnan(bound)
    assert np.isnan(theory("capped", p=0.5)).all()
    assert np.isnan(theory("linear", "random_matching")).all()
