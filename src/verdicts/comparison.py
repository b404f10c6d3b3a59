"""Several methods on one metric: means with intervals, ranks, and which are within the noise.

All pairs are compared as claims are: paired where two methods share seeds, and else unpaired. The p
values are adjusted by Holm's method over all pairs. The rank of a method is 1 + the number of
methods that are significantly better. Those with rank 1 are within the noise of the best: the
method that is truly the best is among them with a probability of at least 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from verdicts.lazy import pd, special
from verdicts.registry import UserError, one_of
from verdicts.report import Result
from verdicts.row import ABSENT, alike
from verdicts.run_values import ENDS, worst_of
from verdicts.scores import Scores, Side, are_left_out, compared, evidence_of, mean_over, sides
from verdicts.statistics.estimates import ALPHA, FEWEST
from verdicts.statistics.evidence import Evidence, Expectation, evidence
from verdicts.statistics.judgement import holm
from verdicts.statistics.samples import DRAWS
from verdicts.table import Column, need, of_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ABOVE = Expectation("above", 0.0)

#: From this number of pairs on t tests decide, and means have so few choices of signs.
MANY, FEW_DRAWS = 1000, 2**12

#: The columns of ``Comparison.frame``, behind the method.
COLUMNS = ("rank", "runs", "mean", "low", "high", "behind", "least", "most", "p", "paired")

#: One number for each seed, or one for each seed and task.
Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison(Result):
    """Methods on a metric, the best first.

    Columns of ``frame``: the method, ``rank``, ``runs``, ``mean`` with its 95 % interval ``low`` to
    ``high``; ``behind``, how far the mean is behind the best one, with the interval ``least`` to
    ``most`` at the level that Holm's method leaves, ``p`` adjusted, and ``paired``.
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
        first = self.frame["rank"] == 1
        return [name for name, is_first in zip(self.names, first, strict=True) if is_first]

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
        axes.set(xlabel=f"{self.metric} (95 % interval)", yticks=places)
        axes.set_yticklabels(names, parse_math=False)
        axes.set_ylim(len(names) - 0.5, -0.5)


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
    worst = worst_of(metric) if best is None else ENDS[one_of("best", best, ENDS)]
    ends = {value: end for end, value in ENDS.items()}
    if worst is None or worst not in ends:
        told = f"whether a high or a low {metric!r} is better is not known"
        raise UserError(f"metric: {told}; say it: best is highest, or lowest (--best).")
    lowest = worst == np.inf
    methods = rows[by].dropna().unique()
    if rows.empty:
        raise UserError("table: it has no rows, only a header.")
    if len(methods) < 2:
        raise UserError(f"by: {by!r} has {len(methods)} value; a comparison takes two.")
    value = {"last": metric, "best": ends[worst]}
    found = sides(rows, [{by: name} for name in methods], value, tasks, paired=False)
    nameless = int(rows[by].isna().sum())
    left_out = [f"{nameless} rows have no {by}"] if nameless else []
    for side in found:
        each = Scores(mean_over(side.values), [side]).told(value)
        if lacking := _seeds_of_others(side, found):
            each.append(f"{are_left_out(lacking)}: a run to compare with is missing")
        left_out += [f"{side.name.removeprefix(f'{by} ')}: {text}" for text in each]
    frame, more = _ranked(dict(zip(methods, found, strict=True)), -1.0 if lowest else 1.0)
    column = "method" if by in COLUMNS else by
    frame = frame.rename(columns={"method": column})
    return Comparison(frame, metric, lowest, (*left_out, *more))


def _seeds_of_others(side: Side, others: Sequence[Side]) -> set[Any]:
    """The seeds that a method lacks, and another one has with which it is paired."""
    own = set(side.values.index) if side.seeded else set()
    return {
        seed for other in others if own & {*other.values.index} for seed in other.values.index
    } - own


def _of_arrays(data: Arrays, by: str, metric: str, over: list[str]) -> pd.DataFrame:
    """The table of arrays [seeds] or [seeds, tasks]; ``over`` becomes ``task`` for the latter."""
    parts = []
    for name, values in data.items():
        array = np.asarray(values, dtype=float)
        if array.ndim not in (1, 2):
            raise UserError(
                f"data: {name!r} has {array.ndim} axes; give [seeds] or [seeds, tasks]."
            )
        seeds, tasks = np.indices(array.shape if array.ndim == 2 else (*array.shape, 1))
        columns = {by: name, "seed": seeds.ravel(), metric: array.ravel()}
        if array.ndim == 2:
            over[:] = over or ["task"]
            columns[over[0]] = tasks.ravel()
        parts.append(pd.DataFrame(columns))
    return of_frame(pd.concat(parts))


def _ranked(found: Mapping[Any, Side], sign: float) -> tuple[pd.DataFrame, list[str]]:
    """The rows of ``Comparison.frame``, and what is said of pairs."""
    values = {name: mean_over(side.values) for name, side in found.items()}
    many = len(found) * (len(found) - 1) // 2 >= MANY
    draws = FEW_DRAWS if many else DRAWS
    means = {name: evidence(of.to_numpy(), ABOVE, draws) for name, of in values.items()}
    if all(np.isnan(mean.estimate) for mean in means.values()):
        raise UserError("metric: no method has a number in any seed.")
    absent = [name for name in values if np.isnan(means[name].estimate)]
    there = [name for name in values if name not in absent]
    ordered = sorted(there, key=lambda name: -sign * means[name].estimate) + absent
    signed = [replace(found[name], values=sign * found[name].values) for name in ordered]
    pairs = list(combinations(range(len(ordered)), 2))
    told = [f"With {len(pairs):,} pairs, Student's and Welch's t tests decide"] if many else []
    tests = _t_tests(signed) if many else [_difference(signed[a], signed[b]) for a, b in pairs]
    adjusted, levels = holm([pair.p for _, pair in tests])
    rank = np.where([name in absent for name in ordered], np.nan, 1.0)
    for (a, b), (_, pair), p in zip(pairs, tests, adjusted, strict=True):
        if p <= ALPHA:
            rank[b if pair.side == 1 else a] += 1
    records = []
    for k, name in enumerate(ordered):
        mean = means[name]
        low, high = mean.interval(ALPHA)
        known = (name, rank[k], mean.pairs, mean.estimate, low, high)
        behind: tuple[Any, ...] = (np.nan,) * 4 + (None,)
        if k:  # the first pairs are those with the best
            paired, pair = tests[k - 1]
            behind = (pair.estimate, *pair.interval(levels[k - 1]), adjusted[k - 1], paired)
        records.append((*known, *behind))
    return pd.DataFrame(records, columns=["method", *COLUMNS]), told


def _difference(of: Side, minus: Side) -> tuple[bool, Evidence]:
    """Whether two methods are paired, for they have seeds in common, and the evidence."""
    scores = compared([of, minus])
    return scores.unpaired is None, evidence_of(scores, ABOVE)


def _t_tests(ordered: Sequence[Side]) -> list[tuple[bool, Evidence]]:
    """``_difference`` of all pairs, by t tests at once; by itself where a value is infinite."""
    seeds = sorted({seed for side in ordered for seed in side.values.index})
    X = np.array([mean_over(side.values).reindex(seeds) for side in ordered])
    seeded, infinite = all(side.seeded for side in ordered), np.isinf(X).any(axis=1)
    sizes = np.count_nonzero(~np.isnan(X), axis=1)
    with np.errstate(all="ignore"):
        means = np.nansum(X, axis=1) / sizes
        errors = np.nansum((X - means[:, None]) ** 2, axis=1) / (sizes - 1) / sizes
    found = []
    for a in range(len(X) - 1):
        with np.errstate(all="ignore"):
            off = X[a] - X[a + 1 :]
            n = np.count_nonzero(~np.isnan(off), axis=1) * seeded
            mean = np.nansum(off, axis=1) / n
            error = np.nansum((off - mean[:, None]) ** 2, axis=1) / (n - 1) / n
            two, others = np.array([np.full(len(n), errors[a]), errors[a + 1 :]]), sizes[a + 1 :]
            welch = two.sum(axis=0) ** 2 / (
                two[0] ** 2 / (sizes[a] - 1) + two[1] ** 2 / (others - 1)
            )
            mean = np.where(n, mean, means[a] - means[a + 1 :])
            error = np.sqrt(np.where(n, error, two.sum(axis=0)))
            freedom = np.where(n, n - 1, welch)
            runs = np.where(n, n, np.minimum(sizes[a], others))
            p = np.where(runs >= FEWEST, 2 * special.stdtr(freedom, -np.abs(mean) / error), np.nan)
        for k, estimate in enumerate(mean):
            if infinite[a] or infinite[a + 1 + k] or not error[k] > 0:
                found.append(_difference(ordered[a], ordered[a + 1 + k]))
                continue
            interval = partial(_student, estimate, error[k], freedom[k])
            side = 1 if estimate >= 0 else -1
            pair = Evidence(
                ABOVE, runs[k], 0, estimate, np.nan, "", side, p=p[k], interval=interval
            )
            found.append((bool(n[k]), pair))
    return found


def _student(mean: float, error: float, freedom: float, level: float) -> tuple[float, float]:
    half = float(special.stdtrit(freedom, 1 - level / 2) * error)
    return float(mean) - half, float(mean) + half
