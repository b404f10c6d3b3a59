"""Questions that a reader has, each answered in a sentence that is made from verdicts.

A question names the claims that answer it, the main one first, each with a label such as "on iid
MNIST". Each claim says yes where it holds. The first word follows from all the verdicts:

- Yes: all hold. No: none does. "Yes, where decided" and "No, where decided": others are undecided.
- It depends: a claim holds in a part of its universes, which a rule tells apart.
- Partly: some claims hold, and others do not.
- Undecided: none is decided. Not run: none was run.

The rest of the sentence has each claim's label and numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verdicts.row import Row, number
from verdicts.statistics import judgement
from verdicts.statistics.judgement import EQUIVALENT, FAILS, HOLDS, NOT_RUN, UNDECIDED
from verdicts.statistics.multiverse import Multiverse

YES, DEPENDS, NO, OPEN = "yes", "it depends", "no", "undecided"
KINDS = {
    **{HOLDS: YES, judgement.ROBUST: YES, judgement.DEPENDS: DEPENDS, UNDECIDED: OPEN},
    **dict.fromkeys((FAILS, EQUIVALENT, judgement.REVERSED, judgement.NO_EFFECT), NO),
}
"""What each verdict on a claim that was run says to the question."""

ORDER = (DEPENDS, YES, NO, OPEN)
"""In which claims are told."""

LARGEST = 700.0
"""The largest logarithm of a ratio that is a number."""


@dataclass(frozen=True)
class Part:
    """What one claim says to the question: three pieces of text, which follow each other."""

    row: Row
    before: str
    label: str
    after: str


@dataclass(frozen=True)
class Answer:
    """A question and its answer."""

    question: str
    word: str
    """Yes, No, Partly, …"""
    parts: tuple[Part, ...]
    """What each claim says; empty if none was run."""
    left_out: str
    """The labels of the ledger's claims that say nothing, and why; empty if all do."""

    @property
    def sentence(self) -> str:
        """The answer as plain text."""
        said = "; ".join(part.before + part.label + part.after for part in self.parts)
        return f"{self.word}: {said}." if said else f"{self.word}."


def answer(question: str, labels: Mapping[str, str], rows: Mapping[str, Row]) -> Answer | None:
    """The answer that the claims with these ids and labels give; None if ``rows`` has none."""
    known = [(rows[claim], label) for claim, label in labels.items() if claim in rows]
    if not known:
        return None
    absent = [label for row, label in known if row.verdict == NOT_RUN]
    marked = [label for row, label in known if row.verdict != NOT_RUN and row.mark]
    told = sorted(
        (each for each in known if each[0].verdict != NOT_RUN and not each[0].mark),
        key=lambda each: ORDER.index(KINDS[each[0].verdict]),
    )
    kinds = [KINDS[row.verdict] for row, _ in told]
    word = first_word(kinds)
    parts = []
    for k, (kind, (row, label)) in enumerate(zip(kinds, told, strict=True)):
        begins = kinds.index(kind) == k and not word.lower().startswith(kind)
        parts.append(Part(row, f"{kind} " if begins else "", label, finding(row)))
    out = {"Not run": absent, "True by construction": marked}
    if not parts and not marked:
        out = {}  # the word says so
    left_out = " ".join(f"{why}: {'; '.join(labels)}." for why, labels in out.items() if labels)
    return Answer(question, word, tuple(parts), left_out)


def first_word(kinds: Sequence[str]) -> str:
    """The first word of an answer, from what its claims say."""
    said = set(kinds)
    if DEPENDS in said:
        return "It depends"
    if {YES, NO} <= said:
        return "Partly"
    for kind, word in ((YES, "Yes"), (NO, "No")):
        if kind in said:
            return f"{word}, where decided" if OPEN in said else word
    return "Undecided" if said else "Not run"


def finding(row: Row) -> str:
    """What was found of a claim, as the end of a sentence that has begun with its label."""
    if row.multiverse is not None:
        return _in_universes(row.verdict, row.multiverse)
    if row.cases > 0:
        if row.met == row.cases:
            return f" in all {row.cases:.0f} cases"
        return f" in only {row.met:.0f} of {row.cases:.0f} cases" if row.met else " in no case"
    if math.isnan(row.estimate):
        return f" ({row.reason})" if row.reason else ""
    directed = row.relation in ("above", "below") and row.expected == 0
    if row.verdict == EQUIVALENT and directed:
        return f", no difference beyond {row.with_unit(row.margin)}"
    if row.verdict == UNDECIDED or not directed:
        return f", {row.with_unit(row.estimate)}{_bracket(row.low, row.high)}"
    other_way = (row.estimate > 0) != (row.relation == "above")
    return (
        (", the other way" if other_way else "")
        + f" by {_size(row)}"
        + (f", less than the margin of {number(row.margin)}" if row.below_margin else "")
    )


def _in_universes(verdict: str, found: Multiverse) -> str:
    """`` in 70 % of 200 universes [63, 76], the other way in 9 % (it holds where γ ≤ 0.3, …)``."""
    if not found.count:
        return ""
    universes = f"of {found.count} universes"
    if verdict == judgement.REVERSED:
        said = f", the other way in {found.reversed / found.count:.0%} {universes}"
    elif verdict == judgement.NO_EFFECT:
        said = f", no difference beyond the margin in {found.within / found.count:.0%} {universes}"
    else:
        said = ", as claimed" if verdict == UNDECIDED else ""
        said += f" in {found.share:.0%} {universes} [{100 * found.low:.0f}, {100 * found.high:.0f}]"
        if verdict != judgement.ROBUST:
            said += f", the other way in {found.reversed / found.count:.0%}"
    if found.rule:
        where = "it holds" if found.rule_of == "holds" else "the other way"
        said += f" ({where} where {found.rule}, which is right in {found.rule_accuracy:.0%})"
    return said.replace("%", " %")


def _size(row: Row) -> str:
    """How large an effect is, whatever its sign; a logarithm of a ratio as a factor."""
    sign = -1 if row.estimate < 0 else 1
    size, *ends = (sign * row.estimate, *sorted((sign * row.low, sign * row.high)))
    if not row.unit.startswith("log ratio"):
        return row.with_unit(size) + _bracket(*ends)
    size, *ends = (math.exp(min(each, LARGEST)) for each in (size, *ends))
    return f"a factor of {number(size)}{_bracket(*ends)}"


def _bracket(low: float, high: float) -> str:
    return "" if math.isnan(high - low) else f" [{number(low)}, {number(high)}]"
