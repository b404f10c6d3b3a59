"""Sentences for captions: tier, data, values of the runs, seeds, intervals, diverged runs."""

from __future__ import annotations

import pandas as pd

import ngo.training.evaluation  # noqa: F401 (the names of its columns are no fields)
from ngo.analysis.cases import worded
from ngo.common.registries import DATASETS
from ngo.training.spec import EVALUATED, NONLINEAR, fields_in
from verdicts.statistics import FEWEST

INTERVALS = "Intervals: 95 %, Student t over seeds"
MEANS = f"Means over seeds; no intervals below {FEWEST} seeds"
GEOMETRIC = "; log axes: geometric means"
OF_LOGARITHM = " and intervals of the mean log"
ONE_MODEL = "Centralized learning has one model, V = 0."


def about(runs: pd.DataFrame) -> list[str]:
    """What a figure of means over seeds says of its runs: classes, intervals, diverged runs."""
    return [classes(runs), *seeds(runs)]


def seeds(runs: pd.DataFrame, *, geometric: bool = True) -> list[str]:
    """What a figure says of its intervals over seeds, and of diverged runs."""
    return [intervals(runs, geometric=geometric), diverged(runs)]


def rounds(trajectories: pd.DataFrame) -> str:
    """The graph and the length of rounds without learning, the same of all ``trajectories``."""
    workers, topology, gamma = trajectories[["workers", "topology", "gamma"]].iloc[0]
    return f"{workers} workers, topology {topology}, rounds of length $\\gamma={gamma:g}$."


def made_by(tier: str, runs: pd.DataFrame, paper: str | None = None) -> str:
    """Tier, data sets, values, seeds: ``Tier paper; data: MNIST; γ = 0.1; 20 epochs; 5 seeds.``

    ``runs`` has the columns dataset and seed. What it also has of gamma, p, epochs, eval_images and
    eval_workers is stated, with a range where it varies. If it has train_samples, an incomplete
    data set is stated as such. ``paper`` is the data set that the paper used; by default, the one
    that each data set stands in for.
    """
    names = []
    for name, group in runs.groupby("dataset", sort=True):
        source, words = DATASETS[name], worded(name)
        used = group["train_samples"].max() if "train_samples" in group else source.train_samples
        if used < source.train_samples:
            words = f"{words} ({used:,.0f} of its {source.train_samples:,} training images)"
        original = source.stands_in_for if paper is None else paper
        if original and original != group["dataset"].iloc[0]:
            words = f"{words}, in place of the paper's {worded(original)}"
        names.append(words)
    data = f"data: {'; '.join(names)}"
    counts = _seed_counts(runs)
    repeats = f"{span(counts)} seed{'' if counts.max() == 1 else 's'}"
    return f"{'; '.join([f'Tier {tier}', data, *_values(runs), repeats])}."


def _values(runs: pd.DataFrame) -> list[str]:
    """Values of gamma, p and epochs, and what evaluations take, of the columns in ``runs``.

    p = 1 of a method that has no other p, and is linear by default, is a linear baseline: it is
    stated only if there is no other p.
    """
    phrases = {
        "gamma": "γ = {}",
        "p": "p = {}",
        "epochs": "{} epochs",
        "eval_images": "evaluations before the last use {} of the test images",
    }
    stated = []
    for name, phrase in phrases.items():
        values = runs[name].dropna() if name in runs else pd.Series(dtype=float)
        if name == "eval_images":
            values = values[values > 0]
        if name == "p" and {"p", "method"} <= set(runs):
            methods = runs["method"][runs["p"].notna()]
            chosen = methods.isin({*methods[values != 1], *NONLINEAR})
            values = values[chosen] if chosen.any() else values
        if len(values):
            stated.append(phrase.format(span(values, "{:,.6g}", "–")))
    if {"workers", "eval_workers"} <= set(runs):
        scored = runs["eval_workers"].where(runs["eval_workers"] > 0, EVALUATED)
        if len(some := scored[scored < runs["workers"]]):
            stated.append(f"workers' accuracy: mean of {span(some, '{:,.6g}', '–')}")
    return ["1 epoch" if phrase == "1 epochs" else phrase for phrase in stated]


def span(values: pd.Series, form: str = "{:.0f}", to: str = " to ") -> str:
    """``2 to 4``, with ``to`` between the ends; the value alone if there is one."""
    ends = [form.format(end) for end in (values.min(), values.max())]
    return to.join(dict.fromkeys(ends))


def _seed_counts(runs: pd.DataFrame) -> pd.Series:
    """The number of seeds of each combination of the other fields.

    A field with one value is none: older runs lack some.
    """
    known = [name for name in fields_in(runs) if name not in ("seed", "dataset")]
    by = ["dataset", *(name for name in known if runs[name].nunique() > 1)]
    return runs.groupby(by, dropna=False)["seed"].nunique()


def mean_over_seeds(runs: pd.DataFrame) -> str:
    """What a table's cells show: the mean, and its interval if there are seeds enough for one."""
    if _seed_counts(runs).max() < FEWEST:
        return f"mean over seeds (no interval below {FEWEST} seeds)"
    return "mean ± 95 % interval over seeds"


def intervals(runs: pd.DataFrame, *, geometric: bool = True) -> str:
    """What intervals are and, if ``geometric``, where means are geometric.

    Empty for one seed; with two, it says that there are no intervals.
    """
    seeds = runs["seed"].nunique()
    if seeds == 1:
        return ""
    words, log = (MEANS, GEOMETRIC) if seeds < FEWEST else (INTERVALS, GEOMETRIC + OF_LOGARITHM)
    return f"{words}{log if geometric else ''}."


def diverged(runs: pd.DataFrame, *, means: bool = True) -> str:
    """The number of diverged runs, and how a figure of ``means`` shows them; empty if none."""
    ends = runs.groupby("run")["diverged"].any()
    if not ends.any():
        return ""
    left = "; hollow: the mean of those left" if means else ""
    return f"{ends.sum()} of {len(ends)} runs diverged (×){left}."


def schedule(runs: pd.DataFrame) -> str:
    """That the learning rate falls, if it does in some runs, and V with it; empty if not."""
    given = runs["lr_schedule"].dropna().unique() if "lr_schedule" in runs else []
    if not (names := sorted(set(given) - {"constant"})):
        return ""
    return (
        f"The learning rate falls (schedule: {', '.join(names)}), and V with it: the last V is "
        "what remains without gradients. The paper mentions no schedule."
    )


def classes(runs: pd.DataFrame) -> str:
    """The number of classes that the workers' samples cover; empty if all partitions have all."""
    sentences = []
    for name, group in runs.groupby("dataset", sort=True):
        covered, total = group["classes_covered"], DATASETS[name].classes
        if total and covered.min() < total:
            share = f"{span(covered)} of {worded(name)}'s {total} classes"
            sentences.append(f"The workers' samples cover {share}.")
    return " ".join(sentences)
