"""Sentences for captions: tier, data, seeds, intervals, diverged runs."""

from __future__ import annotations

import pandas as pd

from ngo.data.dataset import DATASETS

BANDS = "Bands and bars: 95 % Student t intervals over seeds, which may leave the axes"
GEOMETRIC = "; what has a log axis has geometric means, and the intervals of its logarithm"
ONE_MODEL = "Centralized learning has one model, V = 0."


def made_by(tier: str, runs: pd.DataFrame, paper: str | None = None) -> str:
    """Tier, data sets, seeds: ``Tier demo; data: digits, in place of the paper's mnist; 2 seeds.``

    ``runs`` has the columns dataset and seed. If it has train_samples, an incomplete data set is
    stated as such. ``paper`` is the data set that the paper used; by default, the one that each
    data set stands in for.
    """
    names = []
    for name, group in runs.groupby("dataset", sort=True):
        source = DATASETS[name]
        used = group["train_samples"].max() if "train_samples" in group else source.train_samples
        if used < source.train_samples:
            name = f"{name} ({used:,.0f} of its {source.train_samples:,} training images)"
        original = paper or source.stands_in_for
        if original and original != group["dataset"].iloc[0]:
            name = f"{name}, in place of the paper's {original}"
        names.append(name)
    seeds = runs["seed"].nunique()
    return f"Tier {tier}; data: {'; '.join(names)}; {seeds} seed{'' if seeds == 1 else 's'}."


def intervals(runs: pd.DataFrame, *, geometric: bool = True) -> str:
    """What bands and bars are and, if ``geometric``, where means are geometric.

    Empty for one seed, which gives no interval.
    """
    if runs["seed"].nunique() == 1:
        return ""
    return BANDS + (GEOMETRIC if geometric else "") + "."


def diverged(runs: pd.DataFrame, *, means: bool = True) -> str:
    """The number of diverged runs, and how a figure of ``means`` shows them; empty if none."""
    ends = runs.groupby("run")["diverged"].any()
    if not ends.any():
        return ""
    left = "; thin lines and hollow markers with a × are the means of those left" if means else ""
    return f"{ends.sum()} of {len(ends)} runs diverged (×){left}."


def classes(runs: pd.DataFrame) -> str:
    """The number of classes that the workers' samples cover; empty if all partitions have all."""
    sentences = []
    for name, group in runs.groupby("dataset", sort=True):
        least, most, total = (
            group["classes_covered"].min(),
            group["classes_covered"].max(),
            DATASETS[name].classes,
        )
        if total and least < total:
            covered = f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
            sentences.append(f"The workers' samples cover {covered} of {name}'s {total} classes.")
    return " ".join(sentences)
