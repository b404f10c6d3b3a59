"""Which choices of what a paper leaves open could have printed its table?

A *candidate* is one choice of all values that the text leaves open. A *cell* is a printed number.
Tables come in: the printed numbers, and what one more run of each candidate would give in each
cell, with errors (``Tried``). Weights of the candidates come out (``Candidates``): how likely each
would have printed these numbers, by a multivariate Student's t distribution, if all were equally
likely before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verdicts.lazy import pd, special
from verdicts.registry import UserError, check, one_of
from verdicts.report import Result, Section, as_strings, write_page
from verdicts.statistics import ALPHA
from verdicts.statistics.multiverse import share_interval
from verdicts.statistics.samples import FEWEST

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What remains of a value has this probability.
SET = 0.9

#: Below this probability of a table as far away, no candidate could have printed it.
NONE = 0.01

#: With fewer effective candidates, a share of them tells nothing.
FEWEST_EFFECTIVE = 20

#: A value with more choices than this is a range.
CHOICES = 12

#: A cell fails from so many errors on, given the others.
FAR = 2.0

#: Draws for intervals of cells that are held out.
DRAWS = 4000

#: Percentages are between these, so that their logit is finite.
ENDS = 5.0, 99.9


class Scale(NamedTuple):
    """A scale on which errors are alike everywhere, and back from it."""

    to: Callable[[Any], Any]
    back: Callable[[Any], Any]


def _logit(percent: Any) -> Any:
    return special.logit(np.clip(percent, *ENDS) / 100)


SCALES = {
    "logit": Scale(_logit, lambda z: 100 * special.expit(z)),
    "log": Scale(np.log, np.exp),
    "plain": Scale(np.asarray, np.asarray),
}


class Tried(NamedTuple):
    """What one more run of each candidate would give in each cell, on a scale of ``SCALES``.

    ``error`` and ``spread`` are the scales of Student's t distributions with ``freedom`` degrees of
    freedom: of the mean, and of a run around it.
    """

    #: The values that are left open, [candidates × values]; no columns for one candidate.
    values: pd.DataFrame
    #: [candidates, cells], …
    mean: np.ndarray
    #: … the error of the mean, …
    error: np.ndarray
    #: … and the spread between runs.
    spread: np.ndarray
    #: Between the cells of one table, [cells, cells].
    correlation: np.ndarray
    freedom: float
    scale: str = "logit"


def shrunk(correlation: np.ndarray, count: int, least: float = 1e-3) -> np.ndarray:
    """Estimated correlations, nearer to zero by as much as their errors say; positive definite.

    Of ``count`` pairs each (Schäfer and Strimmer 2005). NaN counts as 0.
    """
    found = np.clip(np.nan_to_num(np.asarray(correlation, float)), -1, 1)
    apart = ~np.eye(len(found), dtype=bool)
    errors = ((1 - found[apart] ** 2) ** 2).sum() / max(count - 1, 1)
    square = (found[apart] ** 2).sum()
    found = np.where(apart, (1 - min(1.0, errors / square if square else 1.0)) * found, 1.0)
    sizes, vectors = np.linalg.eigh(found)
    positive = vectors * np.maximum(sizes, least) @ vectors.T
    return positive / np.sqrt(np.outer(*2 * [np.diag(positive)]))


@dataclass(frozen=True, repr=False)
class Candidates(Result):
    """The candidates with their weights; ``frame`` has a row for each value that is left open.

    Columns of ``frame``: ``value``; ``tried`` and ``remains``, in words; ``low`` and ``high``, the
    ends of what remains of a range; ``size``, the share of what was tried that remains.
    """

    tried: Tried
    #: A row for each cell: ``cell``, its name, ``value``, and as it likes ``rounding``, ``sd`` or
    #: ``se``, and ``seeds``.
    printed: pd.DataFrame
    #: The places of the cells by which candidates are weighed.
    cells: np.ndarray
    #: The logarithm of the probability density of the printed numbers, [candidates], …
    density: np.ndarray
    #: … and the squares of their distances, with the cells' errors and correlation.
    distance: np.ndarray
    #: On the scale: printed − mean, in errors, [candidates, cells]; and the errors.
    off: np.ndarray = field(compare=False)
    errors: np.ndarray = field(compare=False)
    told: Sequence[str] = ()

    @cached_property
    def weights(self) -> np.ndarray:
        """The probability of each candidate, [candidates]; their sum is 1."""
        return np.asarray(special.softmax(self.density))

    @property
    def effective(self) -> float:
        """So many candidates of equal weight would say as much (Kish 1965)."""
        return float(1 / (self.weights**2).sum())

    @property
    def best(self) -> int:
        """The place of the likeliest candidate."""
        return int(self.density.argmax())

    @property
    def p(self) -> float:
        """The probability, under the likeliest, of a table as far away as the printed one."""
        count, freedom = len(self.cells), self.tried.freedom
        return float(special.fdtrc(count, freedom, self.distance[self.best] / count))

    @property
    def none_could(self) -> bool:
        """Whether no candidate that was tried could have printed this."""
        return self.p < NONE

    @cached_property
    def sets(self) -> dict[str, tuple[Any, ...]]:
        """What remains of each value with probability ``SET``: two ends, or choices.

        Of a range, as much is left out on both sides. Choices are the likeliest ones.
        """
        return {str(name): self._set(values) for name, values in self.tried.values.items()}

    def _set(self, values: pd.Series) -> tuple[Any, ...]:
        if is_range(values):
            order = np.argsort(values.to_numpy(), kind="stable")
            sums = np.cumsum(self.weights[order]) - self.weights[order] / 2
            ends = np.interp([(1 - SET) / 2, (1 + SET) / 2], sums, values.to_numpy(float)[order])
            return tuple(float(f"{end:.3g}") for end in ends)
        shares = self.shares(values)
        return tuple(shares.index[: np.searchsorted(shares.cumsum(), SET - 1e-9) + 1])

    def shares(self, values: pd.Series) -> pd.Series:
        """The probability of each choice, the likeliest first."""
        found = pd.Series(self.weights).groupby(values.to_numpy()).sum()
        return found.sort_values(ascending=False, kind="stable")

    @cached_property
    def frame(self) -> pd.DataFrame:  # type: ignore[override]  # it is made when it is asked for
        """See the class."""
        rows = []
        for name, kept in self.sets.items():
            values = self.tried.values[name]
            if is_range(values):
                inside, (low, high) = values.between(*kept).mean(), kept
                tried = f"{values.min():.3g} to {values.max():.3g}"
                remains = f"{low:.3g} to {high:.3g}"
            else:
                inside, (low, high) = values.isin(kept).mean(), (math.nan, math.nan)
                tried = ", ".join(map(str, sorted(values.unique())))
                shares = self.shares(values)[[*kept]].items()
                remains = ", ".join(f"{choice} ({100 * share:.0f} %)" for choice, share in shares)
            row = {"value": name, "tried": tried, "remains": remains}
            rows.append({**row, "low": low, "high": high, "size": float(inside)})
        return pd.DataFrame(rows, columns=["value", "tried", "remains", "low", "high", "size"])

    def shown(self) -> pd.DataFrame:
        """See ``Result``."""
        return as_strings(self.frame.drop(columns=["low", "high"]))

    def numbers(self) -> pd.DataFrame:
        """The printed numbers beside the likeliest candidate's.

        ``low`` and ``high``: one run has it between these with 95 %. ``off``: how far the printed
        number is from what the other cells let expect, in errors.
        """
        mean, errors = self.tried.mean[self.best], self.errors[self.best]
        half, back = special.stdtrit(self.tried.freedom, 1 - ALPHA / 2), SCALES[self.tried.scale][1]
        inverse = np.linalg.inv(_part(self.tried.correlation, self.cells))
        rows = self.printed.assign(
            likeliest=back(mean), low=back(mean - half * errors), high=back(mean + half * errors)
        ).iloc[self.cells]
        given = inverse @ self.off[self.best, self.cells] / np.sqrt(np.diag(inverse))
        return rows[["cell", "value", "likeliest", "low", "high"]].assign(off=given)

    def predicted(self, cells: Sequence[int]) -> pd.DataFrame:
        """Other cells: the 95 % interval in which those that weigh let expect the printed number.

        A row each: ``cell``, ``value``, ``low``, ``high`` and ``inside``.
        """
        stream, known, correlation = np.random.default_rng(0), self.cells, self.tried.correlation
        solved = np.linalg.solve(_part(correlation, known), _part(correlation, known, cells))
        rest = _part(correlation, cells) - _part(correlation, cells, known) @ solved
        chosen = stream.choice(len(self.weights), DRAWS, p=self.weights)
        freedom = self.tried.freedom + len(known)
        wider = (self.tried.freedom + self.distance[chosen]) / stream.chisquare(freedom, DRAWS)
        normal = stream.normal(size=(DRAWS, len(cells))) @ np.linalg.cholesky(rest).T
        off = self.off[chosen][:, known] @ solved + normal * np.sqrt(wider)[:, None]
        drawn = self.tried.mean[chosen][:, cells] + off * self.errors[chosen][:, cells]
        ends = np.quantile(drawn, [ALPHA / 2, 1 - ALPHA / 2], axis=0)
        low, high = SCALES[self.tried.scale].back(ends)
        rows = self.printed.iloc[[*cells]][["cell", "value"]].assign(low=low, high=high)
        return rows.assign(inside=rows["value"].between(low, high))

    def share(self, yes: Any) -> dict[str, float]:
        """The share of the candidates for which something is so, by weight and without weights.

        With ``effective`` candidates, and ``low`` and ``high``, the ends of the 95 % interval for
        so many.
        """
        given = np.asarray(yes, float)
        share, effective = min(1.0, float(self.weights @ given)), self.effective
        low, high = share_interval(share * effective, effective, ALPHA)
        found = {"share": share, "low": low, "high": high, "effective": effective}
        return {**found, "unweighed": float(given.mean()), "count": float(len(given))}

    def __str__(self) -> str:
        """The answer in a sentence."""
        p = f"p {'< 0.001' if self.p < 1e-3 else f'= {self.p:.2g}'}"
        far = f"a table as far from the likeliest as the printed one: {p}"
        one = len(self.weights) == 1
        if self.none_could:
            numbers = self.numbers()
            order = numbers["off"].abs().sort_values(ascending=False).index
            which = numbers.loc[[k for k in order if abs(numbers["off"][k]) >= FAR] or order[:1]]
            where = "; ".join(which["cell"])
            could = "The candidate that was tried could not" if one else "No candidate that was"
            could += " have printed this" if one else " tried could have printed this"
            told = f"{could} ({far}). It fails at {len(which)} of {len(numbers)} numbers: {where}"
        elif one:
            told = f"One candidate was tried, and it could have printed this ({far})"
        else:
            kept = ", ".join(f"{row.value} {row.remains}" for row in self._told_apart())
            told = (
                f"Of {len(self.weights):,} candidates, as much as {self.effective:,.0f} of equal "
                f"weight could have printed this ({far}). With 90 %: {kept or 'all that was tried'}"
            )
        if one and self.none_could:
            told = f"One candidate was tried. {told}"
        return ". ".join([told, *self.told]) + "."

    def _told_apart(self) -> Iterable[Any]:
        """The rows of values of which a quarter or less remains, or at most two."""
        rows = self.frame.sort_values("size", kind="stable")
        return rows[rows["size"] <= SET / 2].itertuples()

    def draw(self, figure: Figure) -> None:
        """Of each value, what was tried (grey) and what remains (dark)."""
        names = [*map(str, self.tried.values)]
        rows = max(1, math.ceil(len(names) / 3))
        figure.set_size_inches(8, 0.6 + 1.9 * rows)
        for axes in figure.subplots(rows, 3, squeeze=False).flat[len(names) :]:
            axes.set_axis_off()
        for axes, name in zip(figure.axes, names, strict=False):
            values = self.tried.values[name]
            if is_range(values):
                log = values.min() > 0 and values.max() > 3 * values.min()
                space = np.geomspace if log else np.linspace
                edges = space(values.min(), values.max(), 13)
                axes.set_xscale("log" if log else "linear")
                old, new = (np.histogram(values, edges, weights=w)[0] for w in (None, self.weights))
                left, width = edges[:-1], np.diff(edges)
            else:
                shares = self.shares(values).sort_index()
                old, new = values.value_counts().reindex(shares.index).to_numpy(), shares.to_numpy()
                left, width = np.arange(len(shares)) - 0.4, np.full(len(shares), 0.8)
                axes.set_xticks(range(len(shares)), map(str, shares.index))
            for height, colour in ((old / old.sum(), "0.8"), (new, "#1f3b5c")):
                axes.bar(left, height, width, align="edge", color=colour, alpha=0.8)
            axes.set(title=name, yticks=[])
            axes.tick_params(labelsize=8)


def is_range(values: pd.Series) -> bool:
    """Whether a value is one of a range of numbers, and not of a few choices."""
    return bool(pd.api.types.is_numeric_dtype(values)) and values.nunique() > CHOICES


def _part(matrix: np.ndarray, rows: Any, columns: Any = None) -> np.ndarray:
    """Some rows, and the same columns or others."""
    return matrix[np.ix_(rows, rows if columns is None else columns)]


def weigh(
    printed: pd.DataFrame | Mapping[str, Any], tried: Tried, cells: Sequence[int] | None = None,
    told: Sequence[str] = (),
) -> Candidates:  # fmt: skip
    """Weigh candidates by printed numbers: all of them, or those at the places ``cells``.

    ``printed`` has a row for each cell (see ``Candidates.printed``). A number with ``se``, or with
    ``sd`` and ``seeds``, has this error; with ``seeds`` alone, it is a mean of so many runs; with
    none, it is one run's. It may be off by ``rounding``, which counts as a variance.

    Raises a UserError, in one line, for tables that do not fit together.
    """
    table = pd.DataFrame(printed).reset_index(drop=True)
    for name in ("cell", "value"):
        one_of("printed: column", name, [*map(str, table.columns)])
    scale = SCALES[one_of("scale", tried.scale, SCALES)]
    shape = len(tried.values), len(table)
    check(min(shape), "tried", shape, "it needs a candidate and a cell")
    for name in ("mean", "error", "spread"):
        given = getattr(tried, name).shape
        check(given == shape, name, given, f"it must be of candidates × cells, {shape}")
        check(np.isfinite(getattr(tried, name)).all(), name, "NaN", "all must be finite")
    check(tried.correlation.shape == 2 * shape[1:], "correlation", tried.correlation.shape,
          f"it must be of cells × cells, {2 * shape[1:]}")  # fmt: skip
    check(tried.freedom >= 1, "freedom", tried.freedom, "it must be 1 or more")
    known = np.arange(shape[1]) if cells is None else np.asarray(cells, int)
    check(len(known), "cells", [], "name one or more")
    given = table.reindex(columns=["value", "rounding", "sd", "se", "seeds"]).astype(float)
    value, rounding, sd, se, seeds = given.to_numpy().T
    seeds = np.where(seeds >= 1, seeds, 1)
    se = np.where(se > 0, se, np.where(seeds >= FEWEST, sd / np.sqrt(seeds), np.nan))
    at = scale.to(value)
    check(np.isfinite(at).all(), "printed", value[~np.isfinite(at)], f"{tried.scale} has none")
    own, half = ((scale.to(value + of) - scale.to(value - of)) / 2 for of in (se, rounding))
    runs = np.where(np.isnan(own), tried.spread**2 / seeds, own**2)
    errors = np.sqrt(tried.error**2 + runs + np.nan_to_num(half) ** 2 / 3)
    check((errors > 0).all(), "spread", 0, "a cell needs an error, a spread or a rounding")
    off = (at - tried.mean) / errors
    try:
        lower = np.linalg.cholesky(_part(tried.correlation, known))
    except np.linalg.LinAlgError:
        raise UserError("correlation: it is not positive definite.") from None
    distance = (np.linalg.solve(lower, off[:, known].T) ** 2).sum(axis=0)
    count, freedom = len(known), tried.freedom
    density = special.gammaln((freedom + count) / 2) - special.gammaln(freedom / 2)
    density = density - count / 2 * math.log(freedom * math.pi) - np.log(np.diag(lower)).sum()
    density = density - np.log(errors[:, known]).sum(axis=1)
    density = density - (freedom + count) / 2 * np.log1p(distance / freedom)
    return Candidates(tried, table, known, density, distance, off, errors, told)


TITLE = "Which choices could have printed this?"

ASSUMED = """A candidate is one choice of all values that the text leaves open; before the table is
seen, all are equally likely. A candidate's weight is how likely it would have printed these
numbers: Student's t distribution of one more run, with the error of what was not run, the cells
correlated as our runs' are. Rounding counts as a variance. The effective number (Kish) is that of
candidates of equal weight that would say as much. "None could" is said below 1 %."""

REMAINS = """With 90 %: of a range, as much is left out at both ends; of choices, the likeliest
ones. Size: the share of what was tried that remains; 0.9 of a range is what nothing told would
leave."""

READ = """The likeliest candidate: where one run lies with 95 %, if it is as expected. Off: how far
the printed number is from what the other numbers let expect, in errors."""


def sections(found: Candidates, more: Iterable[Section] = ()) -> list[Section]:
    """What the page says, and then ``more``."""
    best: Any = pd.DataFrame([{"value": k, "likeliest": found.tried.values[k].iloc[found.best]}
                              for k in found.tried.values])  # fmt: skip
    none: Any = pd.DataFrame()
    content = [
        ("Answer", str(found), none),
        ("What remains of each value", REMAINS, found.shown() if len(found.frame) else none),
        ("The likeliest candidate", "", as_strings(best) if len(best) else none),
        ("Printed numbers", READ, as_strings(found.numbers())),
    ]
    kept = [section for section in content if section[1] != REMAINS or len(section[2])]
    kept = [section for section in kept if section[1] or len(section[2])]
    return [*kept, *more, ("What is assumed", ASSUMED, none)]


def write(
    folder: Path, found: Candidates, more: Iterable[Section] = (), title: str = TITLE,
    inputs: Iterable[Path] = (),
) -> None:  # fmt: skip
    """Write the page, its picture and rows: ``candidates.md``, ``.html``, ``.png``, ``.csv``.

    ``more`` are further sections; ``inputs`` are files that are not written over.
    """
    alt = "Of each value, what was tried, grey, and what remains, dark"
    write_page(folder, "candidates", found, sections(found, more), title, alt, inputs)
