"""A row of verdicts: a claim or one of its cells, what was found, and how it is printed."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import get_type_hints

from verdicts.claims.claim import MARKS
from verdicts.files import regular_file
from verdicts.lazy import pd
from verdicts.registry import UserError, in_a_line, printable
from verdicts.statistics import ABSENT, ALPHA, FEWEST, Multiverse, alike, digits_of, number
from verdicts.statistics.evidence import Expectation
from verdicts.statistics.judgement import ALWAYS, EQUIVALENT, HOLDS, UNDECIDED, VERDICTS
from verdicts.table import MOST_BYTES, read_csv

#: What is said of a claim with this value of ``Row.registered``.
REGISTERED = {
    "before": "registered before its first run",
    "changed": "changed after its first run",
    "added": "added after its first run",
}


@dataclass(frozen=True)
class Row:
    """A claim, or a cell of it, with its verdict. Text may be empty, and numbers NaN."""

    #: The claim's id.
    claim: str
    #: The name of the cell; empty for the claim itself.
    cell: str
    #: Where the claim is made.
    place: str
    #: The claim in a sentence.
    says: str
    kind: str
    verdict: str
    #: Why it is not decided, or by which case or cell it is.
    reason: str
    #: The unit of the quantity, and of all numbers down to ``detectable``.
    unit: str
    #: ``above``, ``below``, ``near`` or ``paper``; empty for cases.
    relation: str
    #: The value to which the claim compares its quantity.
    expected: float
    margin: float
    #: The mean over seeds; the median where runs diverged.
    estimate: float
    #: The ends of the interval: what the test behind the verdict does not reject, at the level that
    #: interim analyses and family leave to it.
    low: float
    high: float
    #: The smallest difference from the expected value that these seeds show with power 80 %.
    detectable: float
    #: The seeds that decide the claim with power 80 %, if what was measured is true.
    seeds_needed: float
    #: The number of seeds.
    pairs: float
    #: In how many of them the number is infinite: runs diverged, or the logarithm is that of 0.
    infinite: float
    p_t: float
    p_sign_flip: float
    #: The p value of a difference that decides, before the adjustment.
    p: float
    #: ``p``, adjusted within the family.
    p_adjusted: float
    p_equivalent: float
    p_equivalent_adjusted: float
    #: In how many cases the claim is met.
    met: float
    cases: float
    #: The name of the case furthest beyond its limit, or nearest to it if all are met.
    hardest: str
    hardest_measured: float
    hardest_limit: float
    family: str
    #: The number of claims whose p values were adjusted together.
    family_size: int
    #: The table or figure that shows it.
    shows: str
    #: What the universes say, for a claim over universes. ``estimate`` is then the median of their
    #: effects, ``pairs`` their number, and ``reason`` the sentence on them.
    multiverse: Multiverse | None = None
    #: How many interim analyses were made, by the plan in its file; None without a plan.
    looks: int | None = None
    #: ``before``, ``changed`` or ``added``: whether the claim was registered before its first run,
    #: was changed after it, or came after it. None if that is not known.
    registered: str | None = None
    #: One of ``claims.claim.MARKS``: it is counted apart.
    mark: str | None = None
    mark_reason: str = ""
    #: The seeds at the next planned analysis, of an undecided claim; None without one.
    next_look: int | None = None
    #: The author's own words; may be empty.
    quote: str = ""
    #: The level of the interval: it is of 1 − level. Two one-sided tests have one of 0.1.
    level: float = math.nan
    #: The ends of the 95 % interval of the last analysis, as if the claim were the only one.
    plain_low: float = math.nan
    plain_high: float = math.nan

    def __post_init__(self) -> None:
        """Texts are printable."""
        for name in _TEXTS:
            if (text := getattr(self, name)) is not None:
                object.__setattr__(self, name, printable(text))

    @property
    def anchor(self) -> str:
        """The id of its row on a page."""
        return f"claim-{self.claim}"

    @property
    def expectation(self) -> Expectation | None:
        """What the claim says of the mean of its quantity; None for cases."""
        margin = None if math.isnan(self.margin) else self.margin
        return Expectation(self.relation, self.expected, margin) if self.relation else None

    @property
    def deciding_p(self) -> float:
        """The adjusted p value behind the verdict.

        That of equivalence where it decided, and of a difference elsewhere.
        """
        by_equivalence = {EQUIVALENT, HOLDS} if self.relation == "near" else {EQUIVALENT}
        return self.p_equivalent_adjusted if self.verdict in by_equivalence else self.p_adjusted

    @property
    def statement(self) -> str:
        """What it says, with a capital letter; symbols such as p and iid stay as they are."""
        first = self.says.partition(" ")[0]
        symbol = first == "iid" or (len(first) == 1 and first != "a")
        return self.says if symbol else self.says[:1].upper() + self.says[1:]

    @property
    def measured(self) -> str:
        """The estimate with its unit, or in how many cases the claim is met."""
        if not math.isnan(self.cases):
            return f"met in {self.met:.0f} of {self.cases:.0f} cases"
        told = self.with_unit(self.estimate, digits_of(self.estimate, self.low, self.high))
        if self.unit.startswith("log ratio") and abs(self.estimate) < 10:
            told += f" (a factor of {alike(*self.factors)[0]})"
        return told

    @property
    def factors(self) -> list[float]:
        """What the estimate, which is a logarithm, and the ends of its interval are factors of."""
        return [math.exp(min(value, LARGEST)) for value in (self.estimate, self.low, self.high)]

    @property
    def hardest_case(self) -> str:
        """The hardest case: what was measured, its limit and their ratio; empty without cases."""
        measured, limit = self.hardest_measured, self.hardest_limit
        ratio = measured / limit if limit else math.nan
        told = f"hardest: {self.hardest}, {number(measured)} for a limit of {number(limit)}"
        return f"{told} (ratio {number(ratio)})" if self.hardest else ""

    @property
    def interval(self) -> str:
        """``−1.2 to 3.4``, ``above 1``, ``below 1``; a dash without an interval or three seeds."""
        if not (self.pairs >= FEWEST and self.low < self.high):
            return ABSENT
        _, start, end = alike(self.estimate, self.low, self.high)
        if math.isinf(self.low):
            return "any" if math.isinf(self.high) else f"below {end}"
        return f"above {start}" if math.isinf(self.high) else f"{start} to {end}"

    @property
    def counted(self) -> str:
        """The number of seeds, with the interim analyses made (``in 2 looks``), or of cases."""
        return number(self.pairs if math.isnan(self.cases) else self.cases, 0) + self._in_looks

    @property
    def _in_looks(self) -> str:
        return "" if self.looks is None else f" in {_many(self.looks, 'look')}"

    @property
    def details(self) -> list[str]:
        """What was expected, the interval and the seeds (``20 seeds in 2 looks``), if there are.

        An interval of another level than 95 % says so: that of equivalence has 90 %.
        """
        details = [f"expected {self.expectation}"] if self.expectation else []
        is_usual = math.isnan(self.level) or math.isclose(self.level, ALPHA)
        share = "" if is_usual else f"{100 * (1 - self.level):.4g} % "
        details += [f"{share}interval {self.interval}"] if self.interval != ABSENT else []
        of_seeds = self.pairs > 0 and math.isnan(self.cases) and not self.multiverse
        return [*details, _many(self.pairs, "seed") + self._in_looks] if of_seeds else details

    @property
    def registration(self) -> str:
        """Whether it was registered before its first run, in words; empty if that is not known."""
        return REGISTERED.get(self.registered or "", "")

    @property
    def remarks(self) -> list[str]:
        """The reason for the verdict, and the mark with its reason; those that there are."""
        mark = f"{self.mark}: {self.mark_reason}" if self.mark else ""
        return [text for text in (self.reason, mark) if text]

    @property
    def why(self) -> str:
        """The remarks; and what would decide it, if it is undecided."""
        parts = self.remarks
        if self.verdict == UNDECIDED and not math.isnan(self.detectable):
            effect = self.with_unit(self.detectable)
            parts.append(f"so many seeds show a difference of {effect} with a power of 80 %")
        if self.verdict == UNDECIDED and not math.isnan(self.seeds_needed):
            seeds = "over 10,000" if self.seeds_needed > 1e4 else f"{self.seeds_needed:.0f}"
            parts.append(f"{seeds} seeds would decide it, if the true effect is the measured one")
        return "; ".join(parts)

    def with_unit(self, value: float, digits: int | None = None) -> str:
        """A ``number`` in the claim's unit."""
        return f"{number(value, digits)} {'' if math.isnan(value) else self.unit}".strip()


#: The largest logarithm of a ratio that is a number.
LARGEST = 700.0

#: The columns of a table of rows.
COLUMNS = [field.name for field in fields(Row)]

_TYPES = get_type_hints(Row)
_TEXTS = {name: str for name, of in _TYPES.items() if of in (str, str | None)}
NUMBERS = {name: float for name, of in _TYPES.items() if of is float}
_WHOLE = {name: "Int64" for name, of in _TYPES.items() if of == int | None}
_OPTIONAL = [name for name, of in _TYPES.items() if isinstance(None, of)]


def _many(count: float, noun: str) -> str:
    """``1 seed``, ``2 seeds``."""
    return f"{count:.0f} {noun}{'' if count == 1 else 's'}"


def as_table(rows: Sequence[Row]) -> pd.DataFrame:
    """The rows as a table with the columns ``COLUMNS``; ``multiverse`` is JSON."""
    table = pd.DataFrame([vars(row) for row in rows], columns=COLUMNS)
    over = table["multiverse"]
    table["multiverse"] = [of and json.dumps(asdict(of), ensure_ascii=False) for of in over]
    return table


def read_rows(path: str | Path) -> list[Row]:
    """The rows in a CSV file that was written from ``as_table``, in its order.

    A missing text is empty. Raises a UserError for a file without these columns.
    """
    try:
        file = regular_file(Path(path), "claims", MOST_BYTES)
        table = read_csv(file, dtype={**_TEXTS, **NUMBERS, **_WHOLE}, na_values=[""])
        if absent := [name for name in COLUMNS if name not in table]:
            raise UserError(f"claims: {str(path)!r} has no column {absent[0]!r}.")
        table["multiverse"] = table["multiverse"].map(_multiverse, na_action="ignore")
        cells = table[COLUMNS].astype(object)
        for name in (*_TEXTS, *_OPTIONAL):
            cells[name] = cells[name].where(cells[name].notna(), None if name in _OPTIONAL else "")
        return [Row(*values) for values in cells.itertuples(index=False, name=None)]
    except (OSError, ValueError, TypeError, KeyError, csv.Error) as error:
        raise UserError(f"claims: {str(path)!r} can't be read: {in_a_line(error)}") from None


def _multiverse(text: str) -> Multiverse:
    values = json.loads(text)
    return Multiverse(**{**values, "rule_settings": tuple(values["rule_settings"])})


#: The key of the number of claims with a mark.
MARKED = f"{', '.join(MARKS[:-1])} or {MARKS[-1]}"

#: What all verdicts come down to: what is said of several claims and of one, and the verdicts.
ANSWERS = {
    "hold": ("holds", "holds, robust, consistent"),
    "do not": ("does not", "fails, reversed, equivalent, not met, no effect"),
    "depend on settings": ("depends on settings", "depends, mostly holds, mostly reversed, mixed"),
    "are undecided": ("is undecided", "undecided, cannot be told"),
    "are not run or out of scale": ("is not run or out of scale", "not run, out of scale"),
}


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """The number of claims with each verdict, and of those apart (``MARKED``), zeros included.

    Cells do not count. Rarer verdicts are left out where there are none.
    """
    return counts_of((row.verdict, row.mark) for row in rows if not row.cell)


def counts_of(claims: Iterable[tuple[str, str | None]]) -> dict[str, int]:
    """``counts`` of the verdict and the mark of each claim."""
    found = Counter(MARKED if mark else verdict for verdict, mark in claims)
    shown = (name for name in (*VERDICTS, MARKED) if found[name] or name in (*ALWAYS, MARKED))
    return {name: found[name] for name in shown}


def registered(rows: Iterable[Row]) -> str:
    """``Of 70 claims with runs, 60 were registered before their first run, …``; empty if none is.

    Claims with a mark count, which is said; those whose registration is not known do not.
    """
    claims = [row for row in rows if not row.cell]
    known = [row.registered for row in claims if row.registered]
    before, changed, added = map(known.count, REGISTERED)
    which = f" (of all {len(claims)}, also marked ones)" if any(row.mark for row in claims) else ""
    told = f"Of {len(known)} claims with dated runs{which}, {_were(before)} registered before their"
    told += f" first run, {_were(changed)} changed after it, and {added} came later."
    return told if known else ""


def _were(number: int) -> str:
    return f"{number} {'was' if number == 1 else 'were'}"


def answered(counts: Mapping[str, int]) -> dict[str, int]:
    """The numbers of claims with each of the five ``ANSWERS``, and of those apart (``MARKED``)."""
    found = {MARKED: counts[MARKED]}
    for said, (_, verdicts) in ANSWERS.items():
        found[said] = sum(counts.get(verdict, 0) for verdict in verdicts.split(", "))
    return found


def counted(counts: Mapping[str, int]) -> str:
    """``Of 70 claims, 31 hold, 12 are not run or out of scale; 4 more are trivial, …``."""
    five = answered(counts)
    apart = five.pop(MARKED)
    parts = (f"{n} {said if n > 1 else ANSWERS[said][0]}" for said, n in five.items() if n)
    more = f"; {apart} more {'is' if apart == 1 else 'are'} {MARKED}" if apart else ""
    return f"Of {_many(sum(five.values()), 'claim')}, {', '.join(parts) or 'none'}{more}."
