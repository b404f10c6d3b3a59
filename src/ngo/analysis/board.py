"""The board: methods compared in several settings, each at its own best values."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

import ngo.analysis.quantities  # noqa: F401 (registers the accuracy of runs)
from ngo.analysis.budgets import at_equal
from verdicts import Expectation, evidence
from verdicts.files import read_mapping
from verdicts.quantities import best_difference, level
from verdicts.registry import UserError
from verdicts.scores import Scores, at_best
from verdicts.statistics import ALPHA
from verdicts.table import Selection, selected

AT_BYTES, AT_SECONDS = "accuracy at equal bytes", "accuracy at equal seconds"

#: What is compared in a setting; in the others, accuracy at the runs' ends.
MEASURES = {"few bytes": AT_BYTES, "slow worker": AT_SECONDS, "late messages": AT_SECONDS}

#: What is equal for all methods in a setting; in the others, samples are.
COSTS = {AT_BYTES: "bytes_sent", AT_SECONDS: "virtual_seconds"}

#: The fields whose best values are taken, and their letters.
CHOSEN = {"gamma": "γ", "p": "p", "lr": "η", "clip": "τ"}

DSGD, REFERENCE = "DSGD", "centralized"

#: The runs of each method.
METHODS: dict[str, Selection] = read_mapping(
    Path(__file__).with_name("board_methods.yaml"), "methods"
)["methods"]

NOT_RUN = {**dict.fromkeys(("estimate", "low", "high"), np.nan), "seeds": 0}


def compared_methods(setting: str, metrics: pd.DataFrame) -> pd.DataFrame:
    """The rows of a setting, one for each of ``METHODS``, at its best values of ``CHOSEN``.

    Columns: those of ``setting_facts``; ``method`` and ``measure``; ``estimate``, ``low`` and
    ``high``, accuracy in percent with its 95 % interval over ``seeds``; ``best``, whether the
    estimate is the highest of all but the reference; ``within``, whether the interval of the paired
    difference to the best includes 0; ``beats_dsgd``, whether that to DSGD is above 0, which is not
    asked of the reference; ``chosen``, the best values. A method that was not run has no estimate.
    −inf: half of the runs or more diverged.
    """
    measure = MEASURES.get(setting, "accuracy")
    runs = metrics
    if measure in COSTS:
        values = ["consensus_accuracy", "holdout_accuracy"]
        runs = at_equal(metrics, COSTS[measure], values, ["seed"])
    choose = [name for name in CHOSEN if name in runs]
    chosen = {}
    for name, where in METHODS.items():
        with suppress(UserError):  # it was not run
            chosen[name] = at_best(selected(runs, where), choose, [])
    estimates = {name: _evidence(level(rows)) for name, rows in chosen.items()}
    choices = [name for name in estimates if name != REFERENCE]
    best = max(choices, key=lambda name: estimates[name]["estimate"], default=None)

    def minus(name: str, other: str) -> dict:
        return _evidence(best_difference(runs, METHODS[name], METHODS[other], choose))

    rows = []
    for name in METHODS:
        row = {**setting_facts(setting, runs), "method": name, "measure": measure}
        choice, row = name in choices, row | estimates.get(name, NOT_RUN)
        row |= {"best": name == best}
        row |= {"within": name == best or (choice and bool(minus(name, best)["high"] >= 0))}
        beats = choice and DSGD in estimates and bool(minus(name, DSGD)["low"] > 0)
        told = _chosen_values(chosen[name], choose) if name in chosen else ""
        rows.append(row | {"beats_dsgd": beats, "chosen": told})
    return pd.DataFrame(rows)


def setting_facts(setting: str, runs: pd.DataFrame) -> dict[str, object]:
    """The setting in numbers.

    ``workers``; ``skew``, the Dirichlet parameter; ``bandwidth``, the bytes that a worker may send
    in a run; ``stragglers``, the share of slow workers; ``lateness``, how long messages take, in
    steps; ``failing``, the probability of a link's failure in a step; ``liars``, their number. NaN
    without skew, and without a limit of bytes.
    """

    def fact(name: str, neutral: float) -> float:
        values = runs[name].dropna() if name in runs else []
        return float(max(values)) if len(values) else neutral

    workers = fact("workers", np.nan)
    skewed = runs["partition"].astype(str).str.startswith("dirichlet").all()
    few = MEASURES.get(setting) == AT_BYTES
    attacked = "attack" in runs and (runs["attack"].dropna() != "none").any()
    return {
        "setting": setting,
        "workers": int(workers),
        "skew": fact("beta", np.nan) if skewed else np.nan,
        "bandwidth": float(runs["budget"].mean()) / workers if few else np.nan,
        "stragglers": fact("slow_workers", 0) / workers,
        "lateness": fact("latency", 0) / fact("step_seconds", 1),
        "failing": fact("link_failure", 0),
        "liars": int(fact("liars", 1)) if attacked else 0,
    }


def _evidence(scores: Scores) -> dict:
    known = evidence(scores.numbers.to_numpy(dtype=float), Expectation("above", 0))
    low, high = known.interval(ALPHA)
    return {"estimate": known.estimate, "low": low, "high": high, "seeds": known.pairs}


def _chosen_values(rows: pd.DataFrame, choose: list[str]) -> str:
    """``γ = 1, p = 0.9``: the values of the fields in the first row."""
    first = rows.iloc[0]
    return ", ".join(f"{CHOSEN[k]} = {first[k]:g}" for k in choose if pd.notna(first[k]))
