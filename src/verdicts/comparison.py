"""Several methods on one metric: means with intervals, ranks, and which are within the noise.

All pairs are compared as claims are: paired where two methods share seeds, and else unpaired. The p
values are adjusted by Holm's method over all pairs. The rank of a method is 1 + the number of
methods that are significantly better. Those with rank 1 are within the noise of the best: the
method that is truly the best is among them with a probability of at least 95 %.

For claims over several tasks: the interquartile mean, and performance profiles (Agarwal et al.
2021).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from verdicts.claims.unpaired import values_of
from verdicts.lazy import pd, stats
from verdicts.quantity_registry import quantity
from verdicts.registry import UserError, in_a_line
from verdicts.row import ABSENT, alike
from verdicts.rows.evaluations import Value, worst_of
from verdicts.rows.seed_values import by_seed, total
from verdicts.rows.selection import Column, Selection, need
from verdicts.statistics.estimates import ALPHA
from verdicts.statistics.evidence import Evidence, Expectation, evidence, unpaired_evidence
from verdicts.statistics.judgement import holm

ABOVE = Expectation("above", 0.0)


def compare(
    rows: pd.DataFrame,
    by: Column,
    metric: Column,
    over: Sequence[Column] = (),
    lowest: bool | None = None,
) -> pd.DataFrame:
    """A row for each value of ``by``, the best first.

    Columns: the method, ``rank``, ``runs``, ``mean`` with its 95 % interval ``low`` to ``high``;
    ``behind``, how far the mean is behind the best one, with the interval ``least`` to ``most`` at
    the level that Holm's method leaves, ``p`` adjusted, and ``paired``. With ``over``, such as the
    task, values are means over these columns. ``lowest``: whether a low metric is better; None if
    its name says so. Raises a UserError for a column that is not there, for a single method, and
    if the name does not say which end is better.
    """
    need(rows, [by, metric, *over])
    if lowest is None:
        if (worst := worst_of(metric)) is None:
            told = f"whether a high or a low {metric!r} is better is not known; --best says it"
            raise UserError(f"metric: {told}.")
        lowest = worst == np.inf
    sign = -1.0 if lowest else 1.0
    methods = rows[by].dropna().unique()
    values = {name: values_of(rows, {by: name}, metric, over) for name in methods}
    if len(values) < 2:
        raise UserError(f"by: {by!r} has {len(values)} value; a comparison takes two.")
    means = {name: evidence(of.to_numpy(), ABOVE) for name, of in values.items()}
    ordered = sorted(values, key=lambda name: -sign * means[name].estimate)
    pairs = list(combinations(ordered, 2))
    found = [_difference(sign * values[a], sign * values[b], "seed" in rows) for a, b in pairs]
    adjusted, levels = holm([pair.p for _, pair in found])
    rank = dict.fromkeys(ordered, 1)
    for (a, b), (_, pair), p in zip(pairs, found, adjusted, strict=True):
        if p <= ALPHA:
            rank[b if pair.side == 1 else a] += 1
    records = []
    for k, name in enumerate(ordered):
        low, high = means[name].interval(ALPHA)
        mean = {"runs": means[name].pairs, "mean": means[name].estimate, "low": low, "high": high}
        records.append({by: name, "rank": rank[name], **mean})
        if k:  # the first pairs are those with the best
            paired, pair = found[k - 1]
            least, most = pair.interval(levels[k - 1])
            records[k] |= {"behind": pair.estimate, "least": least, "most": most}
            records[k] |= {"p": adjusted[k - 1], "paired": paired}
    return pd.DataFrame(records)


def _difference(of: pd.Series, minus: pd.Series, seeded: bool) -> tuple[bool, Evidence]:
    """Whether two methods are paired, for they have seeds in common, and the evidence."""
    both = of.index.intersection(minus.index)
    if seeded and len(both):
        return True, evidence(total(np.array([of[both], -minus[both]])), ABOVE)
    return False, unpaired_evidence(of.to_numpy(), minus.to_numpy(), ABOVE)


def as_text(table: pd.DataFrame, metric: str) -> str:
    """The table of ``compare``, and a sentence for each method behind the best."""

    def told(columns: list[str]) -> list[tuple[str, str]]:
        """A value and its interval in words."""
        texts = [alike(*values) for values in table[columns].itertuples(index=False, name=None)]
        return [(x, low if low == ABSENT else f"{low} to {high}") for x, low, high in texts]

    printed = table.iloc[:, [1, 0, 2]].astype({table.columns[0]: str})
    printed[[metric, "interval"]] = told(["mean", "low", "high"])
    names = printed.iloc[:, 1]
    lines = [printed.to_string(index=False), ""]
    behind = told(["behind", "least", "most"])
    for k, row in enumerate(table.to_dict("records")[1:], 1):
        how = "too few runs" if np.isnan(row["p"]) else f"p = {row['p']:.2g}"
        how += ", paired" if row["paired"] else ", unpaired"
        far, interval = behind[k]
        lines.append(f"{names[k]} is {far} behind {names[0]}, interval {interval} ({how}).")
    within = ", ".join(names[table["rank"] == 1])
    return "\n".join([*lines, f"Within the noise of the best: {within}.", ""])


def draw(table: pd.DataFrame, metric: str, path: Path) -> None:
    """A picture of the table of ``compare``: means and intervals; filled within the noise.

    Raises a UserError without matplotlib, and for a file that it can't write.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        told = "it needs matplotlib: pip install 'verdicts[pictures]'"
        raise UserError(f"picture: {told}.") from None
    figure = Figure(figsize=(6, 1 + 0.4 * len(table)), layout="constrained")
    axes = figure.subplots()
    places, fills = range(len(table)), np.where(table["rank"] == 1, "tab:blue", "white")
    axes.hlines(places, table["low"], table["high"], color="tab:blue")
    axes.scatter(table["mean"], places, c=fills, edgecolors="tab:blue", zorder=2)
    axes.set(xlabel=f"{metric} (95 % interval)", yticks=places)
    axes.set_yticklabels([str(name) for name in table.iloc[:, 0]], parse_math=False)
    axes.set_ylim(len(table) - 0.5, -0.5)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise UserError(f"picture: {str(path)!r}: {in_a_line(error)}.") from None


def _over_tasks(
    rows: pd.DataFrame,
    value: Value,
    over: Sequence[Column],
    sides: Sequence[Selection | None],
    number: Callable[[np.ndarray], np.ndarray],
) -> pd.Series:
    """A number of each seed's scores; that of the second side is subtracted, if it is given."""

    def of_side(side: Selection | None) -> pd.Series:
        table = by_seed(rows, side or {}, value, over)
        return pd.Series(number(table.to_numpy()), table.index).mask(table.isna().any(axis=1))

    return of_side(sides[0]) if sides[1] is None else of_side(sides[0]) - of_side(sides[1])


@quantity("interquartile_mean", unit="that of the value", example="{over: [task], value: score}")
def _interquartile_mean(
    rows: pd.DataFrame,
    over: Sequence[Column],
    value: Value = "score",
    of: Selection | None = None,
    minus: Selection | None = None,
) -> pd.Series:
    """The mean of the middle half of each seed's values over the fields ``over``, its tasks.

    That of the runs ``of``, less that of the runs ``minus`` if they are given.
    """
    return _over_tasks(rows, value, over, (of, minus), lambda s: stats.trim_mean(s, 0.25, axis=-1))


@quantity(
    "performance_profile", unit="share of tasks", example="{above: 0.5, over: [task], value: score}"
)
def _performance_profile(
    rows: pd.DataFrame,
    above: float,
    over: Sequence[Column],
    value: Value = "score",
    of: Selection | None = None,
    minus: Selection | None = None,
) -> pd.Series:
    """The share of tasks (the fields ``over``) in which a seed's value is above a score.

    Its mean over seeds is the performance profile at that score (Agarwal et al. 2021). ``of`` and
    ``minus`` as in ``interquartile_mean``.
    """
    return _over_tasks(rows, value, over, (of, minus), lambda s: (s > above).mean(axis=-1))
