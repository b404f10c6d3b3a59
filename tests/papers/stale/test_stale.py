"""The figure and table of stale models, from made-up runs; what the claims ask of such runs."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import REPOSITORY
from figure_files import made

import ngo.analysis.quantities  # noqa: F401 (registers the quantities of runs)
from verdicts import judged, judgement, read_claims

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

CONDITIONS = {
    "equal workers": {},
    "one worker 2 × slower": {"slow_workers": 1, "slow_factor": 2.0},
    "one worker 5 × slower": {"slow_workers": 1, "slow_factor": 5.0},
    "one worker 10 × slower": {"slow_workers": 1, "slow_factor": 10.0},
    "50 % of the links slow": {"slow_links": 0.5},
    "workers leave and come": {"churn": "churn_trace"},
}
NONE = {"slow_workers": 0, "slow_factor": 1.0, "slow_links": 0.0, "churn": "none"}
LEVELS = {"ngo": 0.8, "gossip": 0.75, "async_push_sum": 0.7, "ad_psgd": 0.6}
SEEDS = range(4)


def run(condition, method, clock, gamma, seed, lost):
    """Ten steps: accuracy rises in a line. With γ = 2 the mean model is worse, workers better."""
    top = LEVELS[method] + 0.01 * seed + 0.001 * (seed % 2) * (method == "ngo")
    top -= 0.1 * (gamma == 2) + 0.02 * (method == "gossip" and condition != "equal workers")
    seconds = 5.0 if clock == "waiting" else 1.0
    fields = {**NONE, **CONDITIONS[condition]}
    return [
        {
            "run": f"{condition}-{method}-{clock}-{gamma}-{seed}", "dataset": "digits",
            "partition": "shards", "method": method, "clock": clock, "gamma": gamma,
            "p": {"ngo": 0.95, "gossip": 1.0}.get(method, np.nan), "lr": 0.1, "seed": seed,
            "step": step, "epoch": step / 5, "virtual_seconds": seconds * step,
            "consensus_accuracy": top * step / 10, "holdout_accuracy": top * step / 10,
            "workers_accuracy_mean": (top - 0.2 + 0.15 * (gamma == 2)) * step / 10,
            "diverged": lost and step == 10, "classes_covered": 10, **fields,
        }
        for step in (0, 2, 10)
    ]  # fmt: skip


def runs(lost=None):
    """The runs without and those with waiting; ``lost`` is a method that diverges, with seed 1."""
    rows = {"asynchronous": [], "waiting": []}
    for condition in CONDITIONS:
        for clock, table in rows.items():
            for method in LEVELS if clock == "asynchronous" else ("ngo", "gossip"):
                for gamma in (1.0, 2.0) if method in ("ngo", "gossip") else (np.nan,):
                    if clock == "asynchronous" or condition != "equal workers":
                        for seed in SEEDS:
                            fails = method == lost and seed == 1
                            table += run(condition, method, clock, gamma, seed, fails)
    return {clock: pd.DataFrame(table) for clock, table in rows.items()}


def test_the_figure_and_the_table_are_saved(tmp_path):
    (printed,) = made("stale/stale", tmp_path, **runs()).tables
    rows = printed.set_index(["Condition", "Case"])
    assert len(rows) == 6 * 4 + 5 * 2
    equal = rows.loc[("equal workers", "NGO")]
    assert equal["Seconds"] == "10"
    assert equal["Mean model"].startswith("81.6 ±")
    assert equal["Workers"].startswith("66.6 ±")
    assert equal[["Mean model: best γ", "Workers: best γ"]].tolist() == ["1", "2"]
    # 10 s are two of its ten steps.
    assert rows.loc[("one worker 10 × slower", "NGO, waiting"), "Mean model"].startswith("16.3")
    assert rows.loc[("workers leave and come", "push-sum"), "Mean model: best γ"] == "–"
    caption = (tmp_path / "tables/stale_best.md").read_text().partition("\n")[0]
    assert "γ in 44 of 44 rows" in caption


def test_the_claims_ask_what_they_say(monkeypatch):
    monkeypatch.setattr("verdicts.judging.detectable", lambda *given: math.nan)  # slow, not asked
    claims = read_claims(REPOSITORY / "papers/stale/claims.yaml")
    actual = {row.claim: row for row in judged(claims, runs()) if not row.cell}
    wanted = {
        "mean-equal": 5.05, "workers-slow-10": 7.05, "interaction-mean-links": 2.0,
        "not-waiting-ngo-churn": 0.8 * 81.55, "ngo-over-push-sum": 10.05,
        "ngo-over-pairwise": 20.05, "sanity-links": 2.0,
    }  # fmt: skip
    for name, points in wanted.items():
        assert actual[name].estimate == pytest.approx(points), name
    assert judgement.NOT_RUN not in {row.verdict for row in actual.values()}
