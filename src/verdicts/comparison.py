"""Comparison of several methods by one metric: means with intervals, and ranks.

All pairs are tested as claims are: paired where two methods share seeds, else unpaired. The p
values are adjusted by Holm's method over all pairs. The rank of a method is 1 + the number of
methods that are significantly better. Methods with rank 1 are within the noise of the best: the
truly best method is among them with a probability of at least 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from verdicts.lazy import Figure, pd, special
from verdicts.registry import UserError
from verdicts.report import Result
from verdicts.run_values import highest_is_best
from verdicts.scores import Scores, Side, are_left_out, differences, mean_over, sides
from verdicts.statistics import ABSENT, ALPHA, FEWEST, ROUNDING, alike
from verdicts.statistics.evidence import Expectation, evidence, unpaired_evidence
from verdicts.statistics.judgement import holm
from verdicts.statistics.samples import DRAWS
from verdicts.table import Column, need, of_frame

ABOVE = Expectation("above", 0.0)

#: From this number of pairs on t tests decide, and means have so few choices of signs.
MANY, FEW_DRAWS = 1000, 2**12

#: The columns of ``Comparison.frame``, behind the method.
COLUMNS = ("rank", "runs", "mean", "low", "high", "behind", "least", "most", "p", "paired")

#: One number for each seed, or one for each seed and task.
Arrays = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Methods on a metric, the best first.

    Columns of ``frame``: the method, ``rank``, ``runs``, and ``mean`` with its 95 % interval,
    ``low`` to ``high``. Then ``behind``: how far it is behind the best method, with the interval
    ``least`` to ``most`` at the level that Holm's method leaves, the adjusted ``p``, and whether
    the two are ``paired``.
    """

    frame: pd.DataFrame
    metric: str
    lowest: bool
    #: What does not count, and why; how pairs are tested where there are many.
    told: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The methods, the best first."""
        return [str(name) for name in self.frame.iloc[:, 0]]

    @property
    def within(self) -> list[str]:
        """The methods that are within the noise of the best."""
        return [str(name) for name in self.frame[self.frame["rank"] == 1].iloc[:, 0]]

    def sentences(self) -> list[str]:
        """How far each method is behind the best, and what does not count."""
        lines, names = [], self.names
        for k, row in enumerate(self.frame.to_dict("records")[1:], 1):
            if np.isnan(row["behind"]):
                lines.append(f"{names[k]} has no number to compare.")
                continue
            how = "too few runs" if np.isnan(row["p"]) else f"p = {row['p']:.2g}"
            how += ", paired" if row["paired"] else ", unpaired"
            far, low, high = alike(row["behind"], row["least"], row["most"])
            interval = ABSENT if low == ABSENT else f"{low} to {high}"
            lines.append(f"{names[k]} is {far} behind {names[0]}, interval {interval} ({how}).")
        lines.append(f"Within the noise of the best: {', '.join(self.within)}.")
        return [*lines, *(f"{text}." for text in self.told)]

    def shown(self) -> pd.DataFrame:
        """The ranking as a table of strings."""
        means = self.frame[["mean", "low", "high"]].itertuples(index=False, name=None)
        texts = [alike(*values) for values in means]
        ends = [" to ".join(both) for _, *both in texts]
        unknown = (f"{ABSENT} to {ABSENT}", "−∞ to ∞")
        return pd.DataFrame({
            "rank": [ABSENT if np.isnan(rank) else f"{rank:.0f}" for rank in self.frame["rank"]],
            self.frame.columns[0]: self.names,
            "runs": self.frame["runs"].astype(str),
            self.metric: [mean for mean, _, _ in texts],
            "interval": [ABSENT if interval in unknown else interval for interval in ends],
        })  # fmt: skip

    def __str__(self) -> str:
        end = "low" if self.lowest else "high"
        lines = [f"{self.metric}: {end} is best; 95 % intervals of means", ""]
        lines += [self.shown().to_string(index=False), "", *self.sentences()]
        return "\n".join(lines)

    def draw(self, figure: Figure) -> None:
        """Means and intervals; filled within the noise of the best."""
        figure.set_size_inches(6, 1 + 0.4 * len(self.frame))
        axes, names = figure.subplots(), self.names
        places, fills = range(len(names)), np.where(self.frame["rank"] == 1, "tab:blue", "white")
        axes.hlines(places, self.frame["low"], self.frame["high"], color="tab:blue")
        axes.scatter(self.frame["mean"], places, c=fills, edgecolors="tab:blue", zorder=2)
        axes.set_yticks(places, names, parse_math=False)
        axes.set(xlabel=f"{self.metric} (95 % interval)", ylim=(len(names) - 0.5, -0.5))


def compare(
    data: pd.DataFrame | Arrays,
    by: Column = "method",
    metric: Column = "score",
    over: Sequence[Column] | Column = (),
    best: str | None = None,
) -> Comparison:
    """Compare all values of ``by``, such as methods, by the mean of a metric over seeds.

    ``data`` is a table, or for each method an array: [seeds], or [seeds, tasks]. Row k of each
    array is seed k. With ``over``, such as the task, values are means over these columns: of a seed
    that has a value at all of them. ``best`` is ``highest`` or ``lowest``; without it, the name of
    the metric must say which. Raises a UserError for a column that is not there, for a single
    method, and if it is not known which end is better.
    """
    tasks = [over] if isinstance(over, str) else list(over)
    rows = of_frame(data) if isinstance(data, pd.DataFrame) else _of_arrays(data, by, metric, tasks)
    need(rows, [by, metric, *tasks])
    value = {"last": metric} if best is None else {"last": metric, "best": best}
    lowest = not highest_is_best(value)
    methods = rows[by].dropna().unique()
    if len(methods) < 2:
        told = "the table has only a header" if rows.empty else f"{by!r} has {len(methods)} value"
        raise UserError(f"by: {told}; a comparison takes two.")
    found = sides(rows, [{by: name} for name in methods], value, tasks, paired=False)
    nameless = int(rows[by].isna().sum())
    left_out = [f"{nameless} rows have no {by}"] if nameless else []
    for side in found:
        each = Scores(mean_over(side.values), [side]).left_out(value)
        own, theirs = _seeds(side), map(_seeds, found)
        if lacking := set().union(*(seeds for seeds in theirs if own & seeds)) - own:
            each.append(f"{are_left_out(lacking)}: a run to compare with is missing")
        each += [f"runs differ in {', '.join(side.mixed)}"] * bool(side.mixed)
        left_out += [f"{side.name.removeprefix(f'{by} ')}: {text}" for text in each]
    left_out += differences(value, found)
    frame, more = _ranked(dict(zip(methods, found, strict=True)), -1.0 if lowest else 1.0)
    frame = frame.rename(columns={"method": "method" if by in COLUMNS else by})
    return Comparison(frame, metric, lowest, (*left_out, *more))


def _seeds(side: Side) -> set[Any]:
    """The seeds of a method, by which it is paired; none in a table without seeds."""
    return set(side.values.index) if side.seeded else set()


def _of_arrays(data: Arrays, by: str, metric: str, over: list[str]) -> pd.DataFrame:
    """The table of arrays; [seeds] alone is one task. ``over`` is set to ``task`` if it is empty.

    Raises a UserError for an array with other axes.
    """
    over[:] = over or ["task"]
    parts = []
    for name, values in data.items():
        array = np.asarray(values)
        if array.ndim not in (1, 2):
            raise UserError(f"data: {name!r} has {array.ndim} axes, not [seeds] or [seeds, tasks].")
        seeds, tasks = np.indices(np.atleast_2d(array.T).T.shape).reshape(2, -1)
        parts.append(pd.DataFrame({over[0]: tasks, "seed": seeds, metric: array.ravel(), by: name}))
    return of_frame(pd.concat(parts))


def _by_student(X: np.ndarray) -> np.ndarray:
    """Student's p values of all pairs of methods ``[methods, seeds]``, NaN where there is none."""
    found = []
    for k, of in enumerate(X[:-1]):
        off = of - X[k + 1 :]
        error = off.std(axis=1, ddof=1) / np.sqrt(X.shape[1])
        p = 2 * special.stdtr(X.shape[1] - 1, -np.abs(off.mean(axis=1)) / error)
        spread, least = np.ptp(off, axis=1), ROUNDING * np.abs(off).max(axis=1)
        found.append(np.where((X.shape[1] >= FEWEST) & (spread > least), p, np.nan))
    return np.concatenate(found)


def _ranked(found: Mapping[Any, Side], sign: float) -> tuple[pd.DataFrame, list[str]]:
    """The rows of ``Comparison.frame``, and what is said of pairs."""
    values = pd.DataFrame({name: mean_over(side.values) for name, side in found.items()})
    pairs = list(combinations(range(len(found)), 2))
    draws = FEW_DRAWS if (many := len(pairs) >= MANY) else DRAWS
    means = {name: evidence(of.to_numpy(), ABOVE, draws) for name, of in values.items()}
    if all(np.isnan(mean.estimate) for mean in means.values()):
        raise UserError("metric: no method has a number in any seed.")
    ordered = sorted(means, key=lambda name: (not means[name].pairs, -sign * means[name].estimate))
    X = sign * values[ordered].to_numpy().T
    seeds = [_seeds(found[name]) for name in ordered]
    paired = [not seeds[a].isdisjoint(seeds[b]) for a, b in pairs]
    with np.errstate(divide="ignore", invalid="ignore"):  # both diverged, or they are the same
        quick = _by_student(X) if many and seeds[0] else np.full(len(pairs), np.nan)
        tests = {
            k: evidence(X[a] - X[b], ABOVE, draws, student=many)
            if paired[k]
            else unpaired_evidence(X[a], X[b], ABOVE)
            for k, (a, b) in enumerate(pairs)
            if a == 0 or np.isnan(quick[k])
        }
    p = [tests[k].p if k in tests else of for k, of in enumerate(quick)]
    adjusted, levels = holm(p)
    rank = np.where([means[name].pairs for name in ordered], 1.0, np.nan)
    for k, (a, b) in enumerate(pairs):
        if adjusted[k] <= ALPHA:
            first = tests[k].side == 1 if k in tests else X[a].sum() >= X[b].sum()
            rank[b if first else a] += 1
    behind: list[tuple[Any, ...]] = [(np.nan,) * 4 + (None,)]
    with_best = zip([*tests.values()][: len(ordered) - 1], levels, adjusted, paired, strict=False)
    behind += [(of.estimate, *of.interval(level), p, both) for of, level, p, both in with_best]
    records = []
    for name, place, more in zip(ordered, rank, behind, strict=True):
        mean = means[name]
        records.append((name, place, mean.pairs, mean.estimate, *mean.interval(ALPHA), *more))
    told = [f"With {len(pairs):,} pairs, Student's and Welch's t tests decide"]
    return pd.DataFrame(records, columns=["method", *COLUMNS]), told * many
