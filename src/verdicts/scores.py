"""Scores: the numbers of runs, put side by side by cell and seed.

Every number that is judged comes from here: differences, means over tasks, rankings, universes and
reproductions. ``sides`` decides which cells (tasks, data sets: the values of the fields ``over``)
and seeds count, and ``Scores`` says which do not, in the same words for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from verdicts import run_values
from verdicts.lazy import pd
from verdicts.registry import UserError, one_of
from verdicts.run_values import Value, highest_is_best, marked, per_run, said
from verdicts.table import UNIVERSE, Selection, complete, described, meant_as_seed, need, selected

#: Fields in which two runs differ that a message names, and seeds that a sentence names.
MOST_FIELDS, MOST_SEEDS = 3, 20

#: Seeds, and what is said of them.
Reasons = Iterator[tuple[set[Any], str]]

#: What a run was put side by side with: its cell, a tuple of the fields ``over``.
CELL = "cell"


@dataclass(frozen=True)
class Side:
    """The numbers of the runs of one side."""

    #: In words: ``method ngo``.
    name: str
    #: Seeds × cells: NaN is a missing run or value, ±inf a diverged run.
    values: pd.DataFrame
    #: A row for each run: ``seed``, ``run``, ``value``, ``diverged``, ``left_out`` (the quantity
    #: can't use it), ``cell``, and its last ``step``, if the table has steps.
    runs: pd.DataFrame
    #: The cells that only other sides have.
    absent: tuple[Any, ...] = ()
    #: Whether the table has seeds; else each run has one of its own.
    seeded: bool = True
    #: The columns in which its runs differ: of text, or without seeds what names them.
    mixed: tuple[str, ...] = ()

    @property
    def whose(self) -> str:
        """`` of method ngo``; empty without a name."""
        return f" of {self.name}" if self.name else ""


@dataclass(frozen=True)
class Scores:
    """What a quantity gives: one number per seed, and the sides that it was made of."""

    #: A Series indexed by seed; a DataFrame with ``part`` and ``whole`` for a ratio of means.
    numbers: Any
    sides: Sequence[Side] = ()
    #: The numbers of both sides, whose runs are not paired: ``numbers`` is then empty.
    unpaired: tuple[pd.Series, pd.Series] | None = None

    @property
    def by_seed(self) -> pd.Series:
        """One number per seed, NaN where one is missing; a ratio's parts are added."""
        of_two = isinstance(self.numbers, pd.DataFrame)
        return self.numbers.sum(axis=1, skipna=False) if of_two else self.numbers

    @property
    def both_diverged(self) -> list[Any]:
        """The seeds that have no number since runs of both sides diverged, or never got there.

        In such a seed no run and no value is missing, and at least two values are infinite.
        """
        lost = self._lost - self._lacking_a_run - self._seeds_with(pd.isna)
        infinite = self._runs.loc[np.isinf(self._runs["value"]), "seed"].value_counts()
        return sorted(seed for seed in lost if infinite.get(seed, 0) > 1)

    def told(
        self, value: Value | None = None, *, logs: bool = False, seeds: pd.Index | None = None
    ) -> list[str]:
        """Which runs and seeds do not count, and why; in which of the ``seeds`` runs diverged.

        ``value`` is what the numbers are about, and ``logs`` says whether logarithms are taken.
        """
        told = []
        if self.unpaired is None:
            told = self.left_out(value, logs=logs, seeds=seeds)
        for of, side in zip(self.unpaired or (), self.sides, strict=False):
            told += [f"{side.name}: {of}" for of in Scores(of, [side]).left_out(value, logs=logs)]
        for side in self.sides:
            told += unlike("step", [side])
            mixed = ", ".join(side.mixed) if not side.seeded else ""
            told += [f"runs{side.whose} differ in {mixed}"] * bool(mixed)
        between = [field for field in ALIKE if field != "step"]  # which is told of each side
        return [*told, *differences(value, self.sides, between)]

    def left_out(
        self, value: Value | None, *, logs: bool = False, seeds: pd.Index | None = None
    ) -> list[str]:
        """As ``told``, of runs that are paired, but not how their steps and units differ."""
        what = "" if value is None else said(value)
        numbers = self.by_seed if seeds is None else self.by_seed[seeds]
        infinite = set(numbers.index[np.isinf(numbers)])
        ended = _first(infinite, self._why_infinite(what))
        told = [f"in {len(some)} of {numbers.count()} seeds {why}" for some, why in ended]
        lost = _first(self._lost, self._why_lost(what, logs=logs))
        told += [f"{are_left_out(some)}: {why}" for some, why in lost]
        if len(unused := self._runs[self._runs["left_out"]]):
            count, of = len(unused), unused["seed"].nunique()
            runs = f"{count} run{'s' * (count > 1)} of {of} seed{'s' * (of > 1)}"
            told.append(f"{runs} left out: diverged, or a value without a logarithm")
        return told

    @property
    def _lost(self) -> set[Any]:
        return set(self.by_seed.index[self.by_seed.isna()])

    @cached_property
    def _runs(self) -> pd.DataFrame:
        kinds = {"seed": object, "run": object, "value": float, "diverged": bool, "left_out": bool}
        runs = [side.runs[[*kinds]] for side in self.sides] or [pd.DataFrame(columns=[*kinds])]
        return pd.concat(runs).astype(kinds).drop_duplicates(["seed", "run"])

    @property
    def _lacking_a_run(self) -> set[Any]:
        """The seeds without a number in which a side has fewer runs than in other seeds."""
        counts = [side.runs["seed"].value_counts() for side in self.sides]
        return {s for s in self._lost if any(len(c) and c.get(s, 0) < c.max() for c in counts)}

    def _seeds_with(self, which: Callable[[pd.Series], pd.Series]) -> set[Any]:
        """The seeds with a run of such a value."""
        return set(self._runs.loc[which(self._runs["value"]), "seed"])

    @property
    def _ended(self) -> str:
        """What is said of runs with infinite values."""
        runs = self._runs[np.isinf(self._runs["value"])]
        late = not runs["diverged"].all()
        return "diverged or never got there" if late else "diverged"

    def _why_infinite(self, what: str) -> Reasons:
        """Why a number is infinite, as in ``_why_lost``: a run diverged, or log 0."""
        # What a diverged run counts for says which end of the value is the best.
        worst = set(self._runs.loc[self._runs["diverged"], "value"]) & {math.inf, -math.inf}
        best = f" ({'low' if worst == {math.inf} else 'high'} is best)" * (len(worst) == 1)
        ended = f"runs {self._ended}, and count against their side{best}"
        yield self._seeds_with(np.isinf), ended
        zero = f"{what or 'the value'} is 0, and its logarithm (−∞) decides the seed"
        yield self._seeds_with(lambda values: values == 0), zero
        yield set(self.by_seed.index), "the number is infinite"

    def _why_lost(self, what: str, *, logs: bool) -> Reasons:
        """Why a seed has no number, the first reason first, and the seeds of which it is true."""
        both = set(self.both_diverged)
        yield both, f"both sides {self._ended}"
        runs = self._runs
        empty = runs.loc[runs["value"].isna() & runs["seed"].isin(self._lost - both), "seed"]
        yield set(empty), f"no {what or 'value'} in {len(empty)} row{'s' * (len(empty) != 1)}"
        for side in self.sides:
            if side.absent:
                cells = ", ".join(" ".join(map(str, cell)) for cell in side.absent[:MOST_FIELDS])
                more = " …" * (len(side.absent) > MOST_FIELDS)
                yield set(side.runs["seed"]), f"no run{side.whose} at {cells}{more}"
        yield self._lacking_a_run, "a run to compare with is missing"
        zero = self._seeds_with(lambda values: values == 0) if logs else set()
        yield zero, f"{what or 'the value'} is 0{' on both sides' * (len(self.sides) > 1)}"
        yield self._lost, "there is no number"


#: What may differ within each side, in the same way.
NAMED = ("dataset", "task", "split")

#: Of what runs that are compared should have the same.
ALIKE = {"step": "end at different steps", "unit": "have different units"}
ALIKE |= {name: f"are of different {name}s" for name in NAMED}


def unlike(field: str, found: Sequence[Side]) -> list[str]:
    """How runs differ in a cell in the ``field``, one of ``ALIKE``; diverged ones aside."""
    runs = pd.concat([side.runs.assign(side=side.name) for side in found] or [pd.DataFrame()])
    if not {CELL, field} <= set(runs):
        return []
    whole = runs[~runs["diverged"].astype(bool) & runs[field].notna()]
    several = whole.groupby(CELL)[field].nunique().loc[lambda of: of > 1].index[:1]
    of_sides = whole[whole[CELL].isin(several)].groupby("side", sort=False)[field]
    if field in NAMED and len({frozenset(of) for _, of in of_sides}) == 1:
        return []
    ends = [(name, dict.fromkeys(map(str, (min(of), max(of))))) for name, of in of_sides]
    each = ", ".join(f"{name} {' to '.join(of)}".strip() for name, of in ends)
    return [f"runs {ALIKE[field]}: {each}"] * bool(each)


def differences(value: Value | None, found: Sequence[Side], of: Iterable[str] = ALIKE) -> list[str]:
    """In which of the fields ``of`` the runs of all sides are not alike; and whether an accuracy
    may be a share of 1 in some, and in percent in others.
    """
    told = [text for field in of for text in unlike(field, found)]
    if value is None or not found or not run_values.is_on_a_scale(value):
        return told
    values = pd.concat([side.runs["value"] for side in found])
    parts = values[values.between(0, 1, "right")], values[values.between(1.5, 100)]
    if all(map(len, parts)):
        few, most = (f"{len(part)} of {len(values)} runs" for part in parts)
        ends = f"at most {parts[0].max():g} in {few}, and {parts[1].min():g} or more in {most}"
        told.append(f"{said(value)} is {ends}: perhaps shares of 1 beside percent")
    return told


def _first(seeds: set[Any], reasons: Reasons) -> Reasons:
    """Each reason with those of the ``seeds`` of which it is the first; without a seed, none."""
    for which, why in reasons if seeds else ():
        if alone := seeds & which:
            yield alone, why
        seeds = seeds - which


def are_left_out(seeds: Iterable[Any]) -> str:
    """``seeds 3, 4 are left out``."""
    listed = sorted(set(seeds))
    told = ", ".join(map(str, listed[:MOST_SEEDS]))
    more = f" and {len(listed) - MOST_SEEDS:,} more" if len(listed) > MOST_SEEDS else ""
    return f"seed {told} is left out" if len(listed) == 1 else f"seeds {told}{more} are left out"


def sides(
    rows: pd.DataFrame,
    wheres: Sequence[Selection],
    value: Value,
    over: Sequence[str] = (),
    *,
    paired: bool = True,
    best: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> list[Side]:
    """The numbers of the runs that each of ``wheres`` selects, on the union of their cells.

    ``best`` chooses among the rows of a side.

    A cell is a combination of the fields ``over``. A side without a run in a cell of another side
    has NaN there, so that it has no mean over cells. A side whose only cell is of missing values
    (centralized training has no topology) counts for every cell of the others.

    Unless ``paired``, a table may have no column ``seed``: each run then has one of its own. Raises
    a UserError if two runs of a seed have the same cell, without a column, and for a column that
    may be meant as the seed.
    """
    named = [*over, *(name for where in wheres for name in where)]
    if (meant := meant_as_seed(rows, [*named, value])) is not None:
        how = "" if rows[meant].dtype.kind in "iuf" else ", with whole numbers"
        hint = f"Did you mean {meant!r}? Rename it to 'seed'{how}."
        raise UserError(f"there is no column 'seed'. {hint}")
    if paired or over:
        need(rows, ["seed"])
    rows = marked(rows, value)
    found, parts = [], [selected(rows, where) for where in wheres]
    keys = [] if "seed" in rows else _keys_of_rows(parts)
    for where, chosen in zip(wheres, parts, strict=True):
        side = _side(described(where), best(chosen) if best else chosen, value, over)
        runs = side.runs.drop(columns=[*ALIKE.keys() & named], errors="ignore")  # asked for
        found.append(replace(side, runs=runs, mixed=(*side.mixed, *keys)))
    keyed = [side for side in found if not _without_key(side.values)] or found[:1]
    cells = list(dict.fromkeys(cell for side in keyed for cell in side.values.columns))
    return [_on_cells(side, cells) for side in found]


def _keys_of_rows(parts: Sequence[pd.DataFrame]) -> list[str]:
    """The columns, such as epoch, that name the rows of all parts, and with the same values."""
    least, *others = sorted(parts, key=len)
    names = least.columns.drop("run", errors="ignore") if others and len(least) > 1 else ()
    return [x for x in names if least[x].is_unique
            and all(of[x].is_unique and least[x].isin(of[x]).all() for of in others)]  # fmt: skip


def _side(name: str, rows: pd.DataFrame, value: Value, over: Sequence[str]) -> Side:
    if not (seeded := "seed" in rows):
        times = rows.value_counts(dropna=False)
        if len(times) > 2 and (often := times.min()) == times.max() > 1:
            raise UserError(f"each row of {name or 'it'} is there {often} times; keep one of each.")
        rows = rows.assign(seed=pd.factorize(rows.get("run", rows.index))[0])
    complete(rows, ["seed"])
    need(rows, over, "over: ")
    fields = [f"over {name}" for name in over]  # apart from a column ``value``, which runs have
    kept = {field: rows[name] for field, name in zip(fields, over, strict=True)}
    runs = per_run(rows.assign(**kept), value)
    parts = runs[fields].astype(object).where(runs[fields].notna(), None)
    keys = list(parts.itertuples(index=False, name=None))
    runs[CELL] = pd.Series(keys or None, index=runs.index, dtype=object)
    if (same := runs.duplicated(["seed", CELL], keep=False)).any():
        raise UserError(_same_seed(rows, runs[same].sort_values(["seed", "run"])))
    places, cells = pd.factorize(runs[CELL].to_numpy())
    numbers = runs[["seed", "value"]].assign(place=places)
    table = numbers.pivot(index="seed", columns="place", values="value").astype(float)
    apart = [*over, *fields, CELL, "run", "started", "unit"]
    texts = runs.drop(columns=apart, errors="ignore")
    counts = texts.select_dtypes(exclude=["number", "bool"]).nunique()
    mixed = tuple(counts.index[counts.between(2, len(runs) - 1)])
    values = table.set_axis(_cells(cells), axis=1)
    return Side(name, values, noted(runs), seeded=seeded, mixed=mixed)


def compared(found: Sequence[Side], *, log: bool = False, test: str = "") -> Scores:
    """The first side − the second, seed by seed; of logarithms, the log of their ratio.

    With a ``test`` of runs that are not paired, and where the sides share no seed, the numbers of
    both apart.
    """
    tables = [logs(side.values) if log else side.values for side in found]
    common = set.intersection(*(set(table.index) for table in tables))
    if test or not common or not all(side.seeded for side in found):
        of, minus = map(mean_over, tables)
        return Scores(pd.Series(dtype=float), found, (of, minus))
    return combined(found, logs if log else None)


def noted(runs: pd.DataFrame, left_out: pd.Series | bool = False) -> pd.DataFrame:
    """What a side keeps of its runs, with which of them a quantity leaves out."""
    lost = runs["diverged"].astype(bool) if "diverged" in runs else False
    kept = [name for name in ("seed", "run", "value", CELL, *ALIKE) if name in runs]
    return runs[kept].assign(diverged=lost, left_out=left_out)


def _on_cells(side: Side, cells: Sequence[Any]) -> Side:
    """The side with a column for each of the cells."""
    if _without_key(side.values):
        values = np.repeat(side.values.to_numpy(), len(cells), axis=1)
        return replace(side, values=pd.DataFrame(values, side.values.index, _cells(cells)))
    absent = tuple(cell for cell in cells if cell not in set(side.values.columns))
    return replace(side, values=side.values.reindex(columns=_cells(cells)), absent=absent)


def _cells(cells: Iterable[Any]) -> pd.Index:
    """The columns of a table of seeds × cells."""
    return pd.Index(list(cells), tupleize_cols=False)


def _without_key(table: pd.DataFrame) -> bool:
    return table.shape[1] == 1 and all(part is None for part in table.columns[0])


def _same_seed(rows: pd.DataFrame, same: pd.DataFrame) -> str:
    """What to do about two runs of a seed, the first of ``same``: how they differ."""
    of_runs = "run" in rows
    same = same if of_runs else same.sort_index()
    pair = same[same.groupby(["seed", CELL], sort=False).ngroup() == 0].iloc[:2]
    one, other = pair["run"] if of_runs else pair.index + 1
    which = f"{'runs' if of_runs else 'rows'} {one} and {other}"
    known = {"run", CELL, "value", "seed"}
    differing = set(pair.columns[pair.nunique(dropna=False) > 1]) - known
    names = [str(column) for column in rows if column in differing]
    if not names:
        return f"{which} are the same (seed {pair['seed'].iloc[0]}); remove one."
    told = f"{which} have the same seed and differ in {', '.join(names[:MOST_FIELDS])}"
    return f"{told}; add what tells them apart to 'over' or 'where', or keep one of them."


def total(values: np.ndarray) -> np.ndarray:
    """The sum along the first axis, and with it the one rule of diverged runs.

    A diverged run has an infinite value (``per_run``). If runs of one side diverged, the sum is
    infinite, against that side. If runs of both did, it is NaN, as with a missing value: there is
    no comparison (``Scores.both_diverged``).
    """
    with np.errstate(invalid="ignore"):
        return np.sum(values, axis=0)


def mean_over(table: pd.DataFrame) -> pd.Series:
    """The mean of each seed over the cells, with infinities as in ``total``; NaN if one is NaN."""
    values = total(table.to_numpy().T) / table.shape[1]
    return pd.Series(values, index=table.index, dtype=float)


def combined(
    found: Sequence[Side],
    of: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
    weights: Sequence[float] = (1, -1),
    number: Callable[[pd.DataFrame], pd.Series] = mean_over,
) -> Scores:
    """The ``number`` of each seed in Σ weight · ``of`` (the values of each side).

    The sum is taken cell by cell: what one side lacks is NaN, and infinities are added as in
    ``total``.
    """
    tables = [of(side.values) if of else side.values for side in found]
    seeds = pd.Index(sorted(set().union(*(table.index for table in tables))), name="seed")
    terms = zip(weights, tables, strict=False)
    values = [weight * table.reindex(seeds).to_numpy() for weight, table in terms]
    return Scores(number(pd.DataFrame(total(np.array(values)), seeds, tables[0].columns)), found)


def logs(table: pd.DataFrame) -> pd.DataFrame:
    """Natural logarithms; −inf for 0. Raises a UserError for a negative value."""
    if (table < 0).any(axis=None):
        raise UserError("value: a negative one has no logarithm; choose another value.")
    with np.errstate(divide="ignore"):
        return table.apply(np.log)


#: A column of the judge's: whether a row's seed is one of a claim's first interim analysis.
FIRST_LOOK = "first_look"


def at_best(
    rows: pd.DataFrame,
    choose: Sequence[str],
    apart: Sequence[str],
    value: Value = "accuracy",
    by: str | None = None,
    best_is: str = "max",
) -> pd.DataFrame:
    """The evaluations of the runs at the best values of ``choose``, for each value of ``apart``.

    The best mean over seeds: of the column ``by`` at the end of runs, the highest or the lowest
    (``best_is``: ``max`` or ``min``); without ``by``, of held-out accuracy for an accuracy, and of
    log ``value`` for any other. Values at which a run diverged come last. For ties, see ``best``.

    In rows with the column ``FIRST_LOOK``, the seeds that it marks choose for all. In rows with the
    column ``universe``, the best values are those of each universe. The index stays.
    """
    one_of("best_is", best_is, ("max", "min"))
    apart = [*apart, *([UNIVERSE] if UNIVERSE in rows else [])]
    fields = [*apart, *choose]
    need(rows, fields, "best: ")
    choosing = rows[rows[FIRST_LOOK]] if FIRST_LOOK in rows else rows
    if by is None and highest_is_best(value):
        by, best_is = "holdout_accuracy", "max"
        if choosing[by].isna().all():
            raise UserError("best: no run has a held-out accuracy to choose by.")
    if by is not None:
        runs = per_run(choosing, by, worst=math.nan)
        runs["score"] = runs["value"] if best_is == "max" else -runs["value"]
    else:
        runs = per_run(choosing, value)
        with np.errstate(divide="ignore"):
            runs["score"] = -np.log(runs["value"])
    means = runs.groupby(fields, dropna=False)["score"].agg(lambda of: of.mean(skipna=False))
    chosen = best(means.reset_index(), choose, apart)[fields]
    kept = rows.reset_index(names="place in the table").merge(chosen, on=fields)
    return kept.set_index("place in the table").rename_axis(None)


def best(scores: pd.DataFrame, choose: Sequence[str], apart: Sequence[str]) -> pd.DataFrame:
    """The row with the highest ``score`` for each value of ``apart``; NaN comes last.

    Ties go to the smaller value of the first field in ``choose``, then of the next; for p, to the
    larger.
    """
    ascending = [False, *(name != "p" for name in choose)]
    order = scores.fillna({"score": -np.inf}).sort_values(["score", *choose], ascending=ascending)
    return order.drop_duplicates(list(apart)) if apart else order.head(1)
