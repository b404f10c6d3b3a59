"""Readers' questions, answered in sentences made from verdicts.

A question names the claims that answer it, the main one first, with labels such as "on iid MNIST".
A claim says yes where it holds. The first word follows from all verdicts:

- Yes: all hold. No: none does. "Yes, where decided" and "No, where decided": others are undecided.
- It depends: a claim holds at some values of a setting, or in a part of its universes (most too).
- Partly: some claims hold, and others do not.
- Undecided: none is decided. Not run: none was run. Out of scale: none meets its gates.

The rest of the sentence has the labels and numbers of the claims.

An author may write an answer, with slots for numbers and settings of claims. It is shown while the
verdicts are those that the author names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from verdicts import judgement
from verdicts.claims import ALTERNATIVE
from verdicts.statistics import ABSENT, Multiverse, alike
from verdicts.verdict_rows import ANSWERS, Row, counted, counts

YES, DEPENDS, NO, OPEN = "yes", "it depends", "no", "undecided"
#: What a verdict answers to the question.
KINDS = {
    verdict: kind
    for kind, (_, verdicts) in zip((YES, NO, DEPENDS, OPEN), ANSWERS.values(), strict=False)
    for verdict in verdicts.split(", ")
}

#: Verdicts that do not answer it.
NOT_DECIDED = (judgement.OUT_OF_SCALE, judgement.NOT_RUN)

#: The order in which an answer lists its claims.
ORDER = (DEPENDS, YES, NO, OPEN)

#: In an author's words: ``{ID}`` is the number of a claim, ``{ID:FIELD}`` the value of a field.
SLOT = re.compile(r"\{([^{}]+)\}")

#: The text of a field's value in the claim with this id.
Setting = Callable[[str, str], str]


@dataclass(frozen=True)
class Part:
    """What one claim says in an answer: its label, and the text that follows the label."""

    row: Row
    label: str
    after: str

    @property
    def kind(self) -> str:
        """The claim's verdict as yes, no, …"""
        return KINDS[self.row.verdict]


@dataclass(frozen=True)
class Answer:
    """A question and its answer."""

    question: str
    #: Yes, No, Partly, …
    word: str
    #: What each claim says; empty if none was run.
    parts: tuple[Part, ...]
    #: The claims that do not answer it, by the reason; empty if all do.
    left_out: str
    #: An author's words: pieces of text, with the claim of a piece that is a number; …
    in_words: tuple[tuple[str, Row | None], ...] = ()
    #: … a sentence for README.md, …
    short: tuple[tuple[str, Row | None], ...] = ()
    #: … and the name of a figure that shows it.
    figure: str = ""
    #: Why these words are not shown: the verdicts that have changed since they were written.
    outdated: str = ""
    #: What further claims on the question say that were decided.
    further: tuple[Part, ...] = ()
    #: All claims on the question.
    rows: tuple[Row, ...] = ()

    @property
    def also(self) -> str:
        """What becomes of the further claims: ``Of 5 claims, 4 hold, 1 does not.``"""
        return counted(counts(part.row for part in self.further)) if self.further else ""

    @property
    def groups(self) -> list[tuple[str, list[Part]]]:
        """The parts by what they say."""
        return [(kind, list(parts)) for kind, parts in groupby(self.parts, lambda part: part.kind)]

    @property
    def sentence(self) -> str:
        """The answer as plain text."""
        if self.in_words:
            return "".join(text for text, _ in self.in_words)
        said = "; ".join(
            ("" if self.word.lower().startswith(kind) else f"{kind} ")
            + "; ".join(part.label + part.after for part in parts)
            for kind, parts in self.groups
        )
        return f"{self.word}: {said}." if said else f"{self.word}."


def answer(
    asked: Mapping[str, Any], rows: Mapping[str, Row], setting: Setting | None = None
) -> Answer | None:
    """The answer to a question in a file of findings; None if ``rows`` has none of its claims.

    ``asked`` has the question (``asks``) and its ``claims``, labels by id. It may have an author's
    words (``answer``), written for the verdicts ``given``, with a sentence of them (``short``); and
    the name of a ``figure``. ``setting`` fills the slots of the words. ``also`` are further claims,
    which count in the answer's first word and have no label.
    """
    known = [(rows[claim], label) for claim, label in asked["claims"].items() if claim in rows]
    if not known:
        return None
    parts, marked = [], []
    absent: dict[str, list[str]] = {}
    for row, label in known:
        name = f"{label} ({row.mark})" if row.mark else label
        if row.verdict in NOT_DECIDED:
            told = f" ({row.measured})" if row.measured != ABSENT else ""
            absent.setdefault(row.verdict.capitalize(), []).append(label + told)
        elif row.mark in (None, ALTERNATIVE):
            parts.append(Part(row, name, finding(row)))
        else:
            marked.append(name)
    parts.sort(key=lambda part: ORDER.index(part.kind))
    more = [rows[claim] for claim in asked.get("also", ()) if claim in rows]
    decided = [row for row in more if row.verdict not in NOT_DECIDED]
    further = [Part(row, row.statement, finding(row)) for row in decided]
    kinds = [part.kind for part in (*parts, *(part for part in further if not part.row.mark))]
    out, word = {**absent, "By construction": marked}, first_word(kinds)
    if len(absent) == 1 and not parts and not marked:
        out, word = {}, next(iter(absent))  # the word says so
    elif word in ("Yes", "No") and judgement.OUT_OF_SCALE in {row.verdict for row, _ in known}:
        word += ", where decided"
    left_out = " ".join(f"{why}: {'; '.join(labels)}." for why, labels in out.items() if labels)
    changed = [
        f"{claim} is {rows[claim].verdict!r}, not {verdict!r}"
        for claim, verdict in asked.get("given", {}).items()
        if claim in rows and rows[claim].verdict != verdict
    ]
    texts = ("" if changed else " ".join(asked.get(key, "").split()) for key in ("answer", "short"))
    told = (in_words(text, rows, setting) for text in texts)
    outdated, claims = "; ".join(changed), (*(row for row, _ in known), *more)
    found = left_out, *told, asked.get("figure", ""), outdated, tuple(further), claims
    return Answer(asked["asks"], word, tuple(parts), *found)


def in_words(
    words: str, rows: Mapping[str, Row], setting: Setting | None = None
) -> tuple[tuple[str, Row | None], ...]:
    """``words`` with a number or setting in each slot; empty if ``rows`` lacks a claim."""
    pieces: list[tuple[str, Row | None]] = []
    for k, piece in enumerate(SLOT.split(words)):
        claim, _, field = piece.partition(":")
        if k % 2 == 0:
            pieces += [(piece, None)] * bool(piece)
        elif claim not in rows or (field and setting is None):
            return ()
        elif field:
            pieces.append((setting(claim, field) if setting else "", None))
        else:
            pieces.append((size(rows[claim]), rows[claim]))
            seen = rows[claim].multiverse
            if seen is not None and seen.by_cell:  # a total does not stand alone
                pieces.append((f" ({seen.by_cell})", None))
    return tuple(pieces)


def size(row: Row) -> str:
    """The number of a claim: how large an effect is, or in how many cases or universes it holds."""
    if (seen := row.multiverse) is not None:
        other_way = f"the other way in {seen.reversed / seen.count:.0%}".replace("%", " %")
        return f"{100 * seen.share:.0f} % of {seen.count} universes, {other_way}"
    return f"{row.met:.0f} of {row.cases:.0f}" if row.cases > 0 else _size(row)


def first_word(kinds: Sequence[str]) -> str:
    """The first word of an answer, from what its claims say."""
    said = set(kinds)
    if DEPENDS in said:
        return "It depends"
    if {YES, NO} <= said:
        return "Partly"
    if not said & {YES, NO}:
        return "Undecided" if said else "Not run"
    word = "Yes" if YES in said else "No"
    return f"{word}, where decided" if OPEN in said else word


def finding(row: Row) -> str:
    """The result of a claim, as the end of a sentence that begins with its label."""
    if row.multiverse is not None:
        return _in_universes(row.verdict, row.multiverse)
    if row.cases > 0:
        if row.met == row.cases:
            return f" in all {row.cases:.0f} cases"
        return f" in only {row.met:.0f} of {row.cases:.0f} cases" if row.met else " in no case"
    if math.isnan(row.estimate):
        return f" ({row.reason})" if row.reason else ""
    directed = row.relation in ("above", "below") and row.expected == 0
    if row.verdict == judgement.EQUIVALENT and directed:
        return f", no difference beyond {row.with_unit(row.margin)}"
    if row.verdict == judgement.UNDECIDED or not directed:
        return f", {_with_interval(row.estimate, row.plain_low, row.plain_high, row.unit)}"
    other_way = (row.estimate > 0) != (row.relation == "above")
    return (", the other way" if other_way else "") + f" by {_size(row)}"


def _in_universes(verdict: str, seen: Multiverse) -> str:
    """`` in 70 % of 200 universes [63, 76], the other way in 9 % (it holds where γ ≤ 0.3, …)``."""
    if not seen.count:
        return ""
    universes = f"of {seen.count} universes"
    other_way = f", the other way in {seen.reversed / seen.count:.0%}"
    if verdict in (judgement.REVERSED, judgement.MOSTLY_REVERSED):
        said = f"{other_way} {universes}"
    elif verdict == judgement.NO_EFFECT:
        said = f", no difference beyond the margin in {seen.within / seen.count:.0%} {universes}"
    else:
        said = ", as claimed" if verdict == judgement.UNDECIDED else ""
        said += f" in {seen.share:.0%} {universes} [{100 * seen.low:.0f}, {100 * seen.high:.0f}]"
        said += "" if verdict == judgement.ROBUST else other_way
    said += f" ({by})" if (by := seen.by_cell) else ""
    if seen.rule:
        where = "it holds" if seen.rule_of == "holds" else "the other way"
        said += f" ({where} where {seen.rule}, which is right in {seen.rule_accuracy:.0%})"
    return said.replace(" %", "%").replace("%", " %")


def _size(row: Row) -> str:
    """How large an effect is, whatever its sign; a logarithm of a ratio as a factor.

    The interval is the plain one of 95 %, not that which decides in a family.
    """
    row = replace(row, low=row.plain_low, high=row.plain_high)
    if row.estimate < 0:
        row = replace(row, estimate=-row.estimate, low=-row.high, high=-row.low)
    if row.unit.startswith("log ratio"):
        return f"a factor of {_with_interval(*row.factors)}"
    return _with_interval(row.estimate, row.low, row.high, row.unit)


def _with_interval(value: float, low: float, high: float, unit: str = "") -> str:
    """``1.2 points [−0.1, 2.6]``; the value alone if there is no interval."""
    told, *ends = alike(value, low, high)
    interval = "" if math.isnan(high - low) else f" [{', '.join(ends)}]"
    return f"{told} {unit}".rstrip() + interval
