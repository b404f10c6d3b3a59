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
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verdicts.lazy import Figure, pd, special
from verdicts.registry import check, one_of, strange
from verdicts.report import Result, Section, as_strings, page_texts, write_page
from verdicts.statistics import ALPHA
from verdicts.statistics.multiverse import share_interval
from verdicts.statistics.samples import FEWEST
from verdicts.table import need

#: What remains of a value has this probability; below the other one, of a table as far away, no
#: candidate could have printed it.
SET, NONE = 0.9, 0.01

#: With fewer effective candidates, a share of them tells nothing.
FEWEST_EFFECTIVE = 20

#: A value with more choices than this is a range.
CHOICES = 12

#: Draws for intervals of cells that are held out.
DRAWS = 4000

#: Percentages are between these, so that their logit is finite.
ENDS = 5.0, 99.9


#: Scales on which errors are alike everywhere: to a scale, and back.
SCALES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "logit": (lambda x: special.logit(np.clip(x, *ENDS) / 100), lambda z: 100 * special.expit(z)),
    "log": (np.log, np.exp),
    "plain": (np.asarray, np.asarray),
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
    #: Below 1: together, the cells tell less than their correlation says (Holmes and Walker 2017).
    power: float = 1.0
    #: Of known candidates' tables: ``Candidates.misfits``.
    misfits: Sequence[np.ndarray] = ()


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

    Columns of ``frame``: ``value``; ``tried`` and ``remains``, in words; ``size``, the share of
    what was tried that remains.
    """

    tried: Tried
    #: A row for each cell: ``cell``, its name, ``value``, and as it likes ``rounding``, ``sd`` or
    #: ``se``, ``seeds``. Those of one ``group`` could be wrong together; by default, each is one.
    printed: pd.DataFrame
    #: The places of the cells by which candidates are weighed.
    cells: np.ndarray
    #: The logarithm of the density of the printed numbers, but for a constant, [candidates], …
    density: np.ndarray
    #: … and the squares of their distances, with the cells' errors and correlation.
    distance: np.ndarray
    #: On the scale: printed − mean, in errors, [candidates, cells]; and the errors.
    off: np.ndarray
    errors: np.ndarray
    told: Sequence[str] = ()

    @cached_property
    def weights(self) -> np.ndarray:
        """The probability of each candidate, [candidates]; their sum is 1."""
        return np.asarray(special.softmax(self.tried.power * self.density))

    @property
    def effective(self) -> float:
        """So many candidates of equal weight would say as much (Kish 1965)."""
        return float(1 / (self.weights**2).sum())

    @property
    def best(self) -> int:
        """The place of the likeliest candidate."""
        return int(self.density.argmax())

    @cached_property
    def gains(self) -> pd.Series:
        """What is gained if all numbers of a group were off by the same: by group, the most first.

        It is the difference of the largest log density.
        """
        inverse, found = np.linalg.inv(_part(self.tried.correlation, self.cells)), {}
        off, errors = self.off[:, self.cells], self.errors[:, self.cells]
        groups = self.printed["group"].iloc[self.cells]
        for group in groups.unique():
            shift = (groups == group).to_numpy() / errors
            along = (shift @ inverse * off).sum(axis=1) ** 2 / (shift @ inverse * shift).sum(axis=1)
            density = _density(self.distance - along, errors, self.tried.freedom)
            found[group] = density.max() - self.density.max()
        return pd.Series(found).sort_values(ascending=False, kind="stable")

    @property
    def misfits(self) -> np.ndarray:
        """The most that is gained by a shift of one group, and by any numbers at all, [2]."""
        count, freedom = len(self.cells), self.tried.freedom
        whole = (freedom + count) / 2 * np.log1p(self.distance[self.best] / freedom)
        return np.array([self.gains.iloc[0], whole])

    @property
    def p(self) -> float:
        """The probability that a candidate's table fits as badly as the printed one.

        By the misfits of known candidates' tables in all cells, which have gamma distributions
        (Bonferroni's correction for two); without any, by the likeliest candidate's distribution.
        """
        count, freedom = len(self.cells), self.tried.freedom
        if len(known := np.asarray(self.tried.misfits)) and count == len(self.printed):
            mean = known.mean(axis=0)
            scale = np.maximum(known.var(axis=0) / mean, 1e-9)
            return float(min(1, 2 * special.gammaincc(mean / scale, self.misfits / scale).min()))
        return float(special.fdtrc(count, freedom, self.distance[self.best] / count))

    @property
    def none_could(self) -> bool:
        """Whether no candidate that was tried could have printed this."""
        return self.p < NONE

    def shares(self, values: pd.Series) -> pd.Series:
        """The probability of each choice, the likeliest first."""
        found = pd.Series(self.weights).groupby(values.to_numpy()).sum()
        return found.sort_values(ascending=False, kind="stable")

    def kept(self, values: pd.Series) -> tuple[Any, ...]:
        """What remains of a value with probability ``SET``: the ends of a range, or choices.

        Of a range, as much is left out on both sides. Choices are the likeliest ones.
        """
        if is_range(values):
            order = np.argsort(values.to_numpy(), kind="stable")
            sums = np.cumsum(self.weights[order]) - self.weights[order] / 2
            ends = np.interp([(1 - SET) / 2, (1 + SET) / 2], sums, values.to_numpy(float)[order])
            return float(ends[0]), float(ends[1])
        shares = self.shares(values)
        return tuple(shares.index[: np.searchsorted(shares.cumsum(), SET - 1e-9) + 1])

    @cached_property
    def frame(self) -> pd.DataFrame:  # type: ignore[override]  # it is made when it is asked for
        """See the class."""
        rows = []
        for name, values in self.tried.values.items():
            kept, shares = self.kept(values), self.shares(values)
            if is_range(values):
                ends = (f"{a:.3g} to {b:.3g}" for a, b in [(values.min(), values.max()), kept])
                size = values.between(*kept).mean()
            else:
                told = (f"{choice} ({100 * shares[choice]:.0f} %)" for choice in kept)
                ends = (", ".join(parts) for parts in [map(str, shares.sort_index().index), told])
                size = values.isin(kept).mean()
            rows.append([name, *ends, float(size)])
        return pd.DataFrame(rows, columns=["value", "tried", "remains", "size"])

    def numbers(self) -> pd.DataFrame:
        """The printed numbers beside the likeliest candidate's.

        ``low`` and ``high``: one run has it between these with 95 %. ``off``: printed − likeliest,
        in errors; ``given``: the same, after what the other cells tell.
        """
        mean, back = self.tried.mean[self.best], SCALES[self.tried.scale][1]
        half = special.stdtrit(self.tried.freedom, 1 - ALPHA / 2) * self.errors[self.best]
        inverse = np.linalg.inv(_part(self.tried.correlation, self.cells))
        ours = {"likeliest": back(mean), "low": back(mean - half), "high": back(mean + half)}
        rows = self.printed[["cell", "value"]].assign(**ours, off=self.off[self.best])
        rows = rows.iloc[self.cells]
        return rows.assign(given=inverse @ rows["off"] / np.sqrt(np.diag(inverse)))

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
        low, high = np.quantile(drawn, [ALPHA / 2, 1 - ALPHA / 2], axis=0)
        back, rows = SCALES[self.tried.scale][1], self.printed.iloc[[*cells]][["cell", "value"]]
        rows = rows.assign(low=back(low), high=back(high))
        return rows.assign(inside=rows["value"].between(rows["low"], rows["high"]))

    def share(self, yes: Any) -> tuple[float, float, float]:
        """The share of the candidates for which something is so, and its 95 % interval.

        The interval is that of a share of ``effective`` candidates.
        """
        share, count = min(1.0, float(self.weights @ np.asarray(yes, float))), self.effective
        return share, *share_interval(share * count, count, ALPHA)

    def __str__(self) -> str:
        """The answer in a sentence."""
        count, numbers = len(self.weights), self.numbers()
        p = f"p {'< 0.001' if self.p < 1e-3 else f'= {self.p:.2g}'}"
        fits = f"a table of one of them that fits as badly: {p}"
        few = self.frame[self.frame["size"] <= SET / 2]
        kept = ", ".join(few["value"] + " " + few["remains"]) or "most of each value that was tried"
        size = f"effectively {self.effective:,.0f} of {count:,} candidates" if count > 1 else "it"
        told = f"{size} could have printed this ({fits})" + f". 90 % of the weight leave {kept}" * (
            count > 1
        )
        if self.none_could:
            groups = self.printed["group"].loc[numbers.index]
            fails = numbers["cell"][groups == self.gains.index[0]]
            none = "no candidate that was tried could" if count > 1 else "it could not"
            told = f"{none} have printed this ({fits}). It fails at "
            told += f"{len(fails)} of {len(numbers)} numbers: {'; '.join(fails)}"
        told = told if count > 1 else f"one candidate was tried, and {told}"
        return ". ".join([told[0].upper() + told[1:], *self.told]) + "."

    def draw(self, figure: Figure) -> None:
        """Of each value, what was tried (grey) and what remains (dark); a range in ten parts."""
        rows = math.ceil(self.tried.values.shape[1] / 3)
        check(rows, "picture", "nothing", "a value must be left open")
        figure.set_size_inches(8, 0.6 + 1.8 * rows)
        for k, (name, values) in enumerate(self.tried.values.items()):
            axes = figure.add_subplot(rows, 3, k + 1)
            parts = pd.qcut(values, 10, labels=False) if is_range(values) else values
            new = self.shares(parts).sort_index()
            old = parts.value_counts(normalize=True).reindex(new.index)
            axes.bar(range(len(new)), old, color="0.8", width=0.9)
            axes.bar(range(len(new)), new, color="#1f3b5c", width=0.6, alpha=0.85)
            axes.set_xticks(range(len(new)), map(str, new.index), fontsize=8)
            if is_range(values):
                axes.set_xticks([0, len(new) - 1], [f"{values.min():.3g}", f"{values.max():.3g}"])
            axes.set(title=name, yticks=[])


def is_range(values: pd.Series) -> bool:
    """Whether a value is one of a range of numbers, and not of a few choices."""
    return bool(pd.api.types.is_numeric_dtype(values)) and values.nunique() > CHOICES


def _part(matrix: np.ndarray, rows: Any, columns: Any = None) -> np.ndarray:
    """Some rows, and the same columns or others."""
    return matrix[np.ix_(rows, rows if columns is None else columns)]


def _density(distance: np.ndarray, errors: np.ndarray, freedom: float) -> np.ndarray:
    """The logarithm of Student's t density, but for a constant, [candidates]."""
    power = (freedom + errors.shape[1]) / 2
    return -power * np.log1p(distance / freedom) - np.log(errors).sum(axis=1)


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
    need(table, ["cell", "value"], "printed: ")
    table["group"] = table.get("group", table["cell"])
    to = SCALES[one_of("scale", tried.scale, SCALES)][0]
    shape = len(tried.values), len(table)
    for name, size in {**dict.fromkeys(["mean", "error", "spread"], shape),
                       "correlation": 2 * shape[1:]}.items():  # fmt: skip
        given = getattr(tried, name)
        check(given.shape == size, name, given.shape, f"it must be {size}, as other tables say")
        check(np.isfinite(given).all(), name, math.nan, "all must be finite")
    known = np.arange(shape[1]) if cells is None else np.asarray(cells, int)
    check(min(*shape, len(known)), "candidates and cells", [*shape], "one or more are needed")
    given = table.reindex(columns=["value", "rounding", "sd", "se", "seeds"]).astype(float)
    value, rounding, sd, se, seeds = given.to_numpy().T
    percent = tried.scale != "logit" or (value.min() >= 0 and 1 < value.max() <= 100)
    check(percent, "printed", [*value], "the scale logit is for percentages")
    seeds = np.where(seeds >= 1, seeds, 1)
    se = np.where(se > 0, se, np.where(seeds >= FEWEST, sd / np.sqrt(seeds), np.nan))
    at = to(value)
    own, half = ((to(value + of) - to(value - of)) / 2 for of in (se, rounding))
    runs = np.where(np.isnan(own), tried.spread**2 / seeds, own**2)
    errors = np.sqrt(tried.error**2 + runs + np.nan_to_num(half) ** 2 / 3)
    off = (at - tried.mean) / errors
    check(np.isfinite(off).all(), "printed", [*value], f"not all are on the scale {tried.scale}")
    with strange("correlation: it can't be used"):
        lower = np.linalg.cholesky(_part(tried.correlation, known))
    distance = (np.linalg.solve(lower, off[:, known].T) ** 2).sum(axis=0)
    density = _density(distance, errors[:, known], tried.freedom)
    return Candidates(tried, table, known, density, distance, off, errors, told)


TITLE = "Which choices could have printed this?"


def sections(found: Candidates, more: Iterable[Section] = ()) -> list[Section]:
    """What the page says, and then ``more``."""
    texts = page_texts("candidates")
    best: Any = found.tried.values.iloc[found.best].rename("likeliest").astype(str)
    content = [("Answer", str(found), pd.DataFrame())]
    if len(found.frame):
        table = found.frame.set_index("value").join(best).rename_axis("value").reset_index()
        content.append(("What remains of each value", texts["remains"], as_strings(table)))
    content.append(("Printed numbers", texts["read"], as_strings(found.numbers())))
    assumed = texts["assumed"].format(power=found.tried.power)
    return [*content, *more, ("What is assumed", assumed, pd.DataFrame())]


def write(
    folder: Path, found: Candidates, more: Iterable[Section] = (), title: str = TITLE
) -> None:
    """Write the page, its picture and rows: ``candidates.md``, ``.html``, ``.png``, ``.csv``.

    ``more`` are further sections.
    """
    alt = "Of each value, what was tried, grey, and what remains, dark"
    write_page(folder, "candidates", found, sections(found, more), title, alt, ())
