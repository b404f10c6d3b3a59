"""The ledger's table as rows to print: verdicts, estimates, intervals, reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

from verdicts.registry import UserError, unknown
from verdicts.render.board import ABSENT
from verdicts.statistics.evidence import FEWEST
from verdicts.statistics.judgement import UNDECIDED, VERDICTS


@dataclass(frozen=True)
class VerdictRow:
    """A claim of the paper with its verdict: columns of ``ledger.ledger``.

    Text may be empty, and numbers NaN.
    """

    claim: str
    """The claim's id."""
    place: str
    says: str
    kind: str
    verdict: str
    reason: str
    estimate: float
    low: float
    high: float
    unit: str
    expected: str
    pairs: float
    detectable: float
    seeds_needed: float
    met: float
    cases: float
    shows: str

    @property
    def anchor(self) -> str:
        """The id of its row on a page."""
        return f"claim-{self.claim}"

    @property
    def measured(self) -> str:
        """The estimate with its unit, or in how many cases the claim is met."""
        if pd.notna(self.cases):
            return f"met in {self.met:.0f} of {self.cases:.0f} cases"
        ratio = self.unit.startswith("log ratio") and abs(self.estimate) < 10
        factor = f" (a factor of {quantity(math.exp(self.estimate))})" if ratio else ""
        return self.with_unit(self.estimate) + factor

    @property
    def statement(self) -> str:
        """What it says, with a capital letter; symbols such as p and iid stay as they are."""
        first = self.says.partition(" ")[0]
        symbol = first == "iid" or (len(first) == 1 and first != "a")
        return self.says if symbol else self.says[:1].upper() + self.says[1:]

    @property
    def interval(self) -> str:
        """``−1.2 to 3.4``; a dash without an interval, or with fewer than three seeds."""
        width = self.high - self.low
        if not (self.pairs >= FEWEST) or pd.isna(width) or not width:
            return ABSENT
        return f"{quantity(self.low)} to {quantity(self.high)}"

    @property
    def counted(self) -> str:
        """The number of seeds, or of cases."""
        number = self.pairs if pd.isna(self.cases) else self.cases
        return ABSENT if pd.isna(number) else f"{number:.0f}"

    @property
    def why(self) -> str:
        """Why it is not decided, and what would decide it; the reason for a verdict, if any."""
        parts = [self.reason] if self.reason else []
        if self.verdict == UNDECIDED and pd.notna(self.detectable):
            effect = self.with_unit(self.detectable)
            parts.append(f"these seeds show a difference of {effect} with a power of 80 %")
        if self.verdict == UNDECIDED and pd.notna(self.seeds_needed):
            number = "over 10,000" if self.seeds_needed > 1e4 else f"{self.seeds_needed:.0f}"
            parts.append(f"{number} seeds would decide it, if what was measured is true")
        return "; ".join(parts)

    def with_unit(self, value: float) -> str:
        """A number in the claim's unit; a dash for NaN."""
        return f"{quantity(value)} {self.unit if pd.notna(value) else ''}".strip()


def quantity(value: float) -> str:
    """Three significant digits, with a true minus sign; a dash for NaN."""
    if pd.isna(value):
        return ABSENT
    text = f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
    mantissa, e, exponent = text.partition("e")
    text = f"{mantissa} · 10^{int(exponent)}" if e else mantissa
    return text.replace("inf", "∞").replace("-", "−")


def read_rows(path: str | Path) -> list[VerdictRow]:
    """The claims of the table ``claims.csv``, in its order.

    Raises a UserError for a file without the ledger's columns, and for an unknown verdict.
    """
    texts = {field.name: str for field in fields(VerdictRow) if field.type == "str"}
    try:
        table = pd.read_csv(path, dtype=texts)
    except (OSError, ValueError) as error:
        raise UserError(f"claims: {str(path)!r} can't be read: {error}") from None
    for field in fields(VerdictRow):
        if field.name not in table:
            raise UserError(f"claims: {str(path)!r} has no column {field.name!r}.")
    table = table.fillna(dict.fromkeys(texts, ""))
    names = [field.name for field in fields(VerdictRow)]
    rows = [VerdictRow(**record) for record in table[names].to_dict("records")]
    for row in rows:
        if row.verdict not in VERDICTS:
            raise unknown(f"claims: verdict of {row.claim}", row.verdict, VERDICTS)
    return rows


def counts(rows: Iterable[VerdictRow]) -> dict[str, int]:
    """The number of claims with each verdict, zeros included."""
    found = [row.verdict for row in rows]
    return {verdict: found.count(verdict) for verdict in VERDICTS}
