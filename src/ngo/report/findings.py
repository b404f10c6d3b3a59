"""What was found: answers to questions, and sentences by topic, whose words and numbers follow from
the verdicts.

A file lists questions (``answers``), topics and, in each, claims by id. A sentence is the claim's
statement, its verdict in words, and the measured numbers, so it never says more than its verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ngo.common.registry import UserError, shown
from ngo.report.answers import Answer, answer
from verdicts.files import read_mapping
from verdicts.row import ABSENT, Row, counts
from verdicts.statistics.judgement import EQUIVALENT, NOT_RUN

#: What a verdict is called where its name does not say it.
_WORDS = {EQUIVALENT: "no difference beyond the margin"}

#: A setting of the playground.
SETTING = re.compile(r"[a-z]+=[a-z0-9.]+(&[a-z]+=[a-z0-9.]+)*")


@dataclass(frozen=True)
class Sentence:
    """A claim, and what was found."""

    row: Row
    #: The verdict in words.
    verdict: str
    #: The numbers, or the reason; empty if there are none.
    found: str


@dataclass(frozen=True)
class Topic:
    """A heading, what it is about, and its sentences."""

    title: str
    about: str
    sentences: tuple[Sentence, ...]
    #: Reasons why claims were not run, each with its claims, which have no sentence.
    absent: tuple[tuple[str, tuple[Row, ...]], ...]

    #: The number of claims with each verdict.
    counted: Mapping[str, int]

    @property
    def rows(self) -> list[Row]:
        """Its claims."""
        run = [sentence.row for sentence in self.sentences]
        return [*run, *(row for _, rows in self.absent for row in rows)]


@dataclass(frozen=True)
class Findings:
    """All answers and topics, and the figure shown with the answers."""

    answers: tuple[Answer, ...]
    topics: tuple[Topic, ...]
    figure: str
    counted: Mapping[str, int]
    #: The title of the page; empty if the file names none.
    title: str = ""
    #: The settings of the playground that show claims, by claim: fragments of its address.
    play: Mapping[str, str] = field(default_factory=dict)


def findings(rows: Sequence[Row], path: str | Path | None) -> Findings:
    """The findings that ``path`` lists, from the verdicts; without a file, all under one heading.

    A claim that the ledger does not have is left out, and so is a question or topic without claims.
    """
    listed = read_findings(path) if path else _of_all(rows)
    by_id = {row.claim: row for row in rows}

    def told(ids: Iterable[str]) -> tuple[Sentence, ...]:
        return tuple(sentence(by_id[each]) for each in ids if each in by_id)

    whole = counts(rows)
    topics = []
    for topic in listed["topics"]:
        every = told(topic["claims"])
        run = tuple(each for each in every if each.row.verdict != NOT_RUN)
        absent = _by_reason(each.row for each in every if each.row.verdict == NOT_RUN)
        if every:
            about = " ".join(topic["about"].split())
            own = counts(each.row for each in every)
            counted = {verdict: own.get(verdict, 0) for verdict in whole}
            topics.append(Topic(topic["title"], about, run, absent, counted))
    asked = listed.get("questions", [])
    answers = (answer(each["asks"], each["claims"], by_id) for each in asked)
    return Findings(
        tuple(filter(None, answers)),
        tuple(topics),
        listed["figure"],
        whole,
        listed.get("title", ""),
        {claim: each for claim, each in listed.get("play", {}).items() if claim in by_id},
    )


def _of_all(rows: Sequence[Row]) -> dict:
    every = [row.claim for row in rows if not row.cell]
    topic = {"title": "All claims", "about": "In the order of the file.", "claims": every}
    return {"questions": [], "topics": [topic], "figure": ""}


def read_findings(path: str | Path) -> dict:
    """The checked content of a file of findings; a one-line UserError for its first mistake."""
    listed = read_mapping(path, "findings")
    _check("findings", listed, {"figure": str, "topics": list})
    if not isinstance(listed.get("title", ""), str):
        raise UserError("findings.title: it must be text.")
    for k, topic in enumerate(listed["topics"]):
        _check(f"findings.topics[{k}]", topic, {"title": str, "about": str, "claims": list})
    if "questions" in listed:
        _check("findings", listed, {"questions": list})
    if "play" in listed:
        _check("findings", listed, {"play": dict})
    for claim, setting in listed.get("play", {}).items():
        if not SETTING.fullmatch(setting):
            raise UserError(f"findings.play.{claim}: {shown(setting)} is no setting: name=value&….")
    for k, question in enumerate(listed.get("questions", [])):
        _check(f"findings.questions[{k}]", question, {"asks": str, "claims": dict})
    return listed


def _check(key: str, values: object, kinds: Mapping[str, type]) -> None:
    """Raise a UserError unless ``values`` is a mapping that has values of these kinds."""
    words = {str: "text", list: "a list", dict: "a mapping of texts"}
    for name, kind in kinds.items():
        value = values.get(name) if isinstance(values, Mapping) else None
        texts = value if name == "claims" and isinstance(value, list) else []
        texts = [*value, *value.values()] if isinstance(value, dict) else texts
        if not isinstance(value, kind) or not all(isinstance(text, str) for text in texts):
            raise UserError(
                f"{key}.{name}: {shown(value)} is not allowed; it must be {words[kind]}."
            )


def _by_reason(rows: Iterable[Row]) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.reason.rstrip("."), []).append(row)
    return tuple((reason, tuple(group)) for reason, group in found.items())


def sentence(row: Row) -> Sentence:
    """What was found about one claim."""
    verdict = _WORDS.get(row.verdict, row.verdict)
    if row.verdict == NOT_RUN:
        return Sentence(row, verdict, row.reason)
    details = [f"expected {row.expectation}"] if row.expectation else []
    details += [f"95 % interval {row.interval}"] if row.interval != ABSENT else []
    details += [row.seeds] if row.seeds else []
    parts = []
    if row.measured != ABSENT and not (row.cases > 0 and row.reason):
        parts.append(row.measured + (f" ({', '.join(details)})" if details else ""))
    return Sentence(row, verdict + row.also, "; ".join([*parts, *filter(None, [row.why])]))
