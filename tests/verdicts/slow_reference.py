"""The rules of docs/verdicts.md once more, written slowly and apart: from a table to p values.

A table is a DataFrame with ``method`` (text), the metric, and optionally ``seed``, ``task``,
``run``, ``step`` and ``diverged``. It knows nothing of the judge's code.
"""

import itertools

import numpy as np
import pandas as pd
from scipy import stats

LOSSES = ("nll", "val_loss")
TINY = 1e-9


def numbers_of_runs(table, metric, worst):
    """A row for each run, with its number: ``worst`` if it diverged, NaN if it is missing."""
    if "run" not in table:
        runs = table.assign(run=range(len(table)), ends=0)
        lost = table["diverged"] if "diverged" in table else pd.Series(False, table.index)
        return runs.assign(value=table[metric].mask(lost, worst))
    lost = set(table.loc[table["diverged"], "run"]) if "diverged" in table else set()
    for column in {metric, *LOSSES} & set(table if "diverged" not in table else []):
        lost |= lost_by(column, table)
    last = table.loc[table.groupby("run")["step"].idxmax()]
    return last.assign(ends=last["step"], value=last[metric].mask(last["run"].isin(lost), worst))


def lost_by(metric, table):
    """The runs that have no finite value where a peer has one, and none after."""
    finite, gaps, combination, lost = {}, {}, {}, set()
    settings = [name for name in ("method", "task") if name in table]
    for run, rows in table.groupby("run"):
        is_finite = np.isfinite(rows[metric])
        finite[run], gaps[run] = set(rows["step"][is_finite]), set(rows["step"][~is_finite])
        combination[run] = tuple(rows[settings].iloc[0])
    for run in finite:
        end = max(finite[run], default=-1)
        later = {step for step in gaps[run] if step > end}
        for peer in finite if later else ():
            alike = {step for step in finite[peer] if step <= end} == finite[run]
            if not finite[run]:
                alike = combination[run] == combination[peer]
            if alike and later & finite[peer]:
                lost.add(run)
    return lost


def sides(runs, names):
    """Of each method: seeds × cells, on the union of the cells of these methods."""
    runs = runs[runs["method"].isin(names)]
    runs = runs.assign(cell=runs.get("task", 0), seed=runs.get("seed", runs["run"]))
    cells = sorted(runs["cell"].unique())
    return {
        name: runs[runs["method"] == name]
        .pivot(index="seed", columns="cell", values="value")
        .reindex(columns=cells)
        for name in names
    }


def mean_of(values):
    """The mean of each seed over cells: missing if one is, or if infinities are of both signs."""
    with np.errstate(invalid="ignore"):
        return pd.Series([row.sum() / len(row) for row in values.to_numpy()], values.index)


class Difference:
    """One side − the other: ``paired``, ``estimate``, ``count``, ``p_at(θ)``, ``left_out``."""

    def __init__(self, of, minus, seeded=True):
        both = of.index.intersection(minus.index)
        self.paired = seeded and len(both) > 0
        if self.paired:
            seeds = sorted({*of.index, *minus.index})
            with np.errstate(invalid="ignore"):
                values = mean_of(of.reindex(seeds) - minus.reindex(seeds))
            self.sample = Sample(values)
            for name in ("estimate", "count", "p_at", "left_out", "infinite"):
                setattr(self, name, getattr(self.sample, name))
            return
        means = [mean_of(side) for side in (of, minus)]
        self.left_out = {seed for side in means for seed in side.index[side.isna()]}
        self.a, self.b = (side.dropna().to_numpy() for side in means)
        self.count, together = min(len(self.a), len(self.b)), np.concatenate([self.a, self.b])
        self.infinite = int(np.isinf(together).sum())
        with np.errstate(invalid="ignore"):
            pairs = np.array([x - y for x in self.a for y in self.b])
        middle = np.nanmedian if self.infinite else np.mean
        self.estimate = middle(pairs) if len(pairs) else np.nan

    @property
    def sign(self):
        """1 if the first side is higher."""
        if self.paired:
            off = self.sample.x
            return np.sign(np.sum(np.sign(off) * rank(np.abs(off)) if self.infinite else off))
        return np.sign(
            rank([*self.a, *self.b])[: len(self.a)].mean() * 2 - len([*self.a, *self.b]) - 1
            if self.infinite
            else self.a.mean() - self.b.mean()
        )

    def p_at(self, theta):
        """The two-sided p value of a shift of ``theta``: Welch's, or of all choices of runs."""
        if self.count < 3:
            return np.nan
        a, b = self.a - theta, self.b
        if not self.infinite:
            size = np.abs([*self.a, *self.b]).max()
            if np.hypot(np.std(self.a), np.std(self.b)) > TINY * size:
                return stats.ttest_ind(a, b, equal_var=False).pvalue
        values = np.concatenate([a, b])
        if self.infinite:
            values = rank(values)
        choices = itertools.combinations(range(len(values)), len(a))
        ts = np.array([welch_t(values, list(chosen)) for chosen in choices])
        tails = {way: np.mean(way * ts >= way * ts[0] - TINY) for way in (1, -1)}
        if len(a) != len(b):  # then the larger of this p and that of Welch's t test
            for way, word in ((1, "greater"), (-1, "less")):
                a, b = values[: len(a)], values[len(a) :]
                if a.std() + b.std() > 0:
                    welch = stats.ttest_ind(a, b, equal_var=False, alternative=word).pvalue
                    tails[way] = max(tails[way], welch)
        return min(1, 2 * min(tails.values()))


def welch_t(values, chosen):
    a, b = values[chosen], np.delete(values, chosen)
    off, spread = a.mean() - b.mean(), np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    off = 0.0 if abs(off) <= TINY * np.abs(values).max() else off
    return off / spread if spread > TINY else off * 1e12


def rank(values):
    """Ranks, in which values that differ by rounding are ties."""
    return stats.rankdata([float(f"{value:.9e}") for value in values])


class Sample:
    """One number for each seed: ``estimate``, ``count``, ``infinite``, ``p_at(θ)``."""

    def __init__(self, values):
        self.left_out = set(values.index[values.isna()])
        self.x = values.dropna().to_numpy()
        self.count, self.infinite = len(self.x), int(np.isinf(self.x).sum())
        self.estimate = np.nan
        if self.count:
            self.estimate = np.median(np.sort(self.x)) if self.infinite else self.x.mean()

    def p_at(self, theta):
        """The two-sided p value: Student's, of all signs from 8 seeds on, of ranks with ∞."""
        if self.count < 3:
            return np.nan
        off = self.x - theta
        if self.infinite:
            off = np.sign(off) * rank(np.abs(off))
        elif np.ptp(self.x) <= TINY * np.abs(self.x).max():
            off = np.where(np.abs(off) <= TINY * np.abs(self.x).max(), 0, off)
        elif self.count < 8:
            return stats.ttest_1samp(off, 0).pvalue
        signs = np.array(list(itertools.product([1, -1], repeat=self.count)))
        return np.mean(np.abs(signs @ off) >= abs(off.sum()) - 1e-12 * np.abs(off).sum())


def holm(p):
    """Adjusted p values by their keys, and the level that is left to each."""
    tested = sorted((key for key in p if not np.isnan(p[key])), key=p.get)
    adjusted, levels, largest, rejected = dict.fromkeys(p, np.nan), dict.fromkeys(p, 0.05), 0, 0
    for k, key in enumerate(tested):
        largest = min(1, max(largest, (len(tested) - k) * p[key]))
        adjusted[key] = largest
        rejected += largest <= 0.05
    for k, key in enumerate(tested):
        k = min(j for j, other in enumerate(tested) if p[other] == p[key])  # ties share a level
        levels[key] = 0.05 / (len(tested) - min(k, rejected))
    return adjusted, levels
