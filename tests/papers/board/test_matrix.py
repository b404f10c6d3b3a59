"""The matrix of methods and settings, from made-up runs whose best method is known."""

import numpy as np
import pandas as pd
import pytest
from figure_files import executed

from ngo.analysis import board

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

SEEDS = range(200, 206)
SETTINGS = (
    "iid", "skewed", "few_bytes", "slow_worker", "late", "failing", "liars", "many_workers",
)  # fmt: skip

RUN = {
    "dataset": "digits", "partition": "iid", "workers": 16, "topology": "ring", "coupling": "power",
    "local_rule": "sgd", "p": 1.0, "lr": 0.1, "gamma": 1.0, "clock": "steps", "attack": "none",
    "link_failure": 0.0, "diverged": False, "classes_covered": 10, "beta": np.nan, "clip": np.nan,
}  # fmt: skip
LEVELS = {
    "centralized": 0.99, "gossip": 0.8, "ngo": 0.9, "d2": 0.9, "quasi_global": 0.7, "extra": 0.95,
}  # fmt: skip
# Bytes of a step; D² is as good as NGO on average, but after equally many bytes it is not.
BYTES = {"d2": 400.0}


def run(method, seed, gamma=1.0, **fields):
    """Accuracy rises in a line of 100 steps; at γ = 2, the best on test data, held-out is worse."""
    sign = 1 if seed % 2 else -1
    top = LEVELS[method] + 0.001 * seed % 0.003 + {"d2": 0.02, "ngo": -0.02}.get(method, 0) * sign
    top += 0.02 * (gamma == 2)
    lost = method == "extra"
    return [
        {
            **RUN, "method": method, "seed": seed, "gamma": gamma,
            "p": 0.95 if method == "ngo" else 1.0, "run": f"{method}-{gamma}-{seed}-{fields}",
            "step": step, "epoch": step / 10, "bytes_sent": BYTES.get(method, 200.0) * step,
            "virtual_seconds": 1.0 * step, "consensus_accuracy": top * step / 100,
            "holdout_accuracy": (top - 0.1 * (gamma == 2)) * step / 100,
            "diverged": lost and step == 100, **fields,
        }
        for step in (0, 50, 100)
    ]  # fmt: skip


def runs(*methods, gammas=(1.0,), **fields):
    rows = [run(m, seed, gamma, **fields) for m in methods for seed in SEEDS for gamma in gammas]
    return pd.DataFrame([row for evaluations in rows for row in evaluations])


def tables(**more):
    facts = {
        "skewed": {"partition": "dirichlet_min", "beta": 0.1},
        "slow_worker": {"slow_workers": 1, "clock": "waiting"},
        "late": {"latency": 3.0, "step_seconds": 1.0, "clock": "asynchronous"},
        "failing": {"link_failure": 0.3},
        "liars": {"attack": "noise", "liars": 1},
        "many_workers": {"workers": 64},
    }
    return {**{name: runs("gossip", "ngo", **facts.get(name, {})) for name in SETTINGS}, **more}


def rows_of(setting, metrics):
    return board.compared_methods(setting, metrics).set_index("method")


def test_the_best_those_within_its_interval_and_those_above_dsgd():
    actual = rows_of("iid", runs("centralized", "gossip", "ngo", "d2", "quasi_global"))
    assert actual.index[actual["best"]].tolist() in (["D²"], ["NGO"])
    assert set(actual.index[actual["within"]]) == {"NGO", "D²"}  # the reference is no choice
    assert set(actual.index[actual["beats_dsgd"]]) == {"NGO", "D²"}
    assert (actual.loc["DSGD", ["seeds", "measure"]] == [6, "accuracy"]).all()
    assert actual.loc["DSGD", "estimate"] == pytest.approx(80.1)
    ends = actual.loc["NGO", ["low", "high"]]
    assert ends["low"] < 90.1 < ends["high"]


def test_a_method_that_was_not_run_is_a_row_without_an_estimate():
    actual = rows_of("iid", runs("gossip", "ngo"))
    assert list(actual.index) == list(board.METHODS)
    absent = actual.drop(index=["DSGD", "NGO"])
    assert absent[["estimate", "low", "high"]].isna().all(axis=None)
    assert not absent[["best", "within", "beats_dsgd"]].any(axis=None)
    assert (absent["seeds"] == 0).all()


def test_the_best_values_are_chosen_by_held_out_accuracy():
    actual = rows_of("iid", runs("gossip", gammas=(1.0, 2.0)))
    assert actual.loc["DSGD", "chosen"] == "γ = 1, p = 1, η = 0.1"
    assert actual.loc["DSGD", "estimate"] == pytest.approx(80.1)


def test_a_method_whose_runs_diverge_is_measured_and_last():
    actual = rows_of("iid", runs("gossip", "extra"))
    assert actual.loc["EXTRA", "estimate"] == -np.inf
    assert not actual.loc["EXTRA", ["within", "beats_dsgd"]].any()
    assert actual.loc["DSGD", "best"]


def test_budgets_are_equal_where_bytes_or_seconds_are():
    few = rows_of("few bytes", runs("gossip", "ngo", "d2"))
    assert few.loc["DSGD", "bandwidth"] == 200 * 100 / 16
    assert few.loc["D²", "estimate"] == pytest.approx(45.05)  # after half of its steps
    assert few.loc["D²", "measure"] == "accuracy at equal bytes"
    short = runs("gossip", clock="asynchronous")
    slow = pd.concat(
        [short[short["step"] <= 50], runs("gossip", clock="waiting")], ignore_index=True
    )
    actual = rows_of("slow worker", slow)
    assert actual.loc[["DSGD", "asynchronous gossip"], "estimate"].tolist() == [
        pytest.approx(40.05),
        pytest.approx(40.05),
    ]


def test_a_row_for_each_setting_and_method_with_the_setting_in_numbers():
    made = executed("board/matrix", **tables(iid=runs("centralized", "gossip", "ngo", "extra")))
    numbers = made["numbers"]
    assert len(numbers) == len(SETTINGS) * len(board.METHODS)
    assert list(numbers)[:17] == [
        "setting", "workers", "skew", "bandwidth", "stragglers", "lateness", "failing", "liars",
        "method", "measure", "estimate", "low", "high", "seeds", "best", "within", "beats_dsgd",
    ]  # fmt: skip
    facts = numbers.drop_duplicates("setting").set_index("setting")
    assert facts.loc["skewed", "skew"] == 0.1
    assert np.isnan(facts.loc["iid", "skew"])
    assert facts.loc["slow worker", "stragglers"] == 1 / 16
    assert facts.loc["late messages", "lateness"] == 3
    assert facts.loc["failing links", "failing"] == 0.3
    assert facts["liars"].to_dict() == {**dict.fromkeys(facts.index, 0), "liars": 1}
    assert facts.loc["many workers", "workers"] == 64
    late = numbers[numbers["setting"] == "late messages"].set_index("method")
    assert late.index[late["estimate"].notna()].tolist() == [
        "asynchronous gossip", "asynchronous NGO",
    ]  # fmt: skip
    column = made["printed"].set_index("Method")["iid"]
    assert column[["centralized", "DSGD", "NGO", "EXTRA", "D²"]].tolist() == [
        "99.1", "80.1", "90.1 **", "diverged", "–",
    ]  # fmt: skip
