"""Findings: answers to questions, and claims by topic, in words and numbers of the verdicts.

A file lists questions (``answers``), topics and, in each, claims by id. A sentence is the claim's
statement, its verdict in words, and the measured numbers, so it never says more than its verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ngo.report.answers import SLOT, Answer, Setting, answer
from verdicts import judgement
from verdicts.files import read_mapping
from verdicts.registry import UserError, check, shown
from verdicts.statistics import ABSENT
from verdicts.verdict_rows import Row

#: A setting of the playground.
SETTING = re.compile(r"[a-z]+=[a-z0-9.]+(&[a-z]+=[a-z0-9.]+)*")


@dataclass(frozen=True)
class Topic:
    """A heading, what it is about, and its claims."""

    title: str
    about: str
    rows: Sequence[Row]

    @property
    def anchor(self) -> str:
        """The id of the heading."""
        return "topic-" + re.sub(r"\W+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Findings:
    """All answers and topics."""

    answers: tuple[Answer, ...]
    topics: tuple[Topic, ...]
    #: The title of the page; empty if the file names none.
    title: str = ""
    #: The settings of the playground that show claims, by claim: fragments of its address.
    play: Mapping[str, str] = field(default_factory=dict)


def findings(
    rows: Sequence[Row], path: str | Path | None, setting: Setting | None = None
) -> Findings:
    """The findings that ``path`` lists, from the verdicts; without a file, all under one heading.

    ``setting`` gives the values of claims' fields in answers.
    A claim that the ledger does not have is left out, and so is a question or topic without claims.
    """
    listed = read_findings(path) if path else _of_all(rows)
    by_id = {row.claim: row for row in rows}
    topics = []
    for topic in listed["topics"]:
        if claims := [by_id[claim] for claim in topic["claims"] if claim in by_id]:
            topics.append(Topic(topic["title"], " ".join(topic["about"].split()), claims))
    answers = (answer(question, by_id, setting) for question in listed["questions"])
    play = {claim: setting for claim, setting in listed["play"].items() if claim in by_id}
    return Findings(tuple(filter(None, answers)), tuple(topics), listed["title"], play)


def _of_all(rows: Sequence[Row]) -> dict:
    claims = [row.claim for row in rows if not row.cell]
    topic = {"title": "All claims", "about": "In the order of the file.", "claims": claims}
    return {**OPTIONAL, "topics": [topic]}


#: What a file may leave out.
OPTIONAL = {"title": "", "questions": [], "play": {}}


def read_findings(path: str | Path) -> dict:
    """The checked content of a file of findings; a one-line UserError for its first mistake."""
    listed = OPTIONAL | read_mapping(path, "findings")
    _check("findings", listed, topics=list, title=str, questions=list, play=dict)
    for k, topic in enumerate(listed["topics"]):
        _check(f"findings.topics[{k}]", topic, title=str, about=str, claims=list)
    for k, question in enumerate(listed["questions"]):
        _check(f"findings.questions[{k}]", question, asks=str, claims=dict)
        if "answer" in question:
            _check(f"findings.questions[{k}]", question, answer=str, given=dict)
        if "also" in question:
            _check(f"findings.questions[{k}]", question, also=list)
        texts = f"{question.get('answer', '')} {question.get('short', '')}"
        slots = {slot.partition(":")[0] for slot in SLOT.findall(texts)}
        if missing := slots - set(question.get("given", {})):
            raise UserError(
                f"findings.questions[{k}].given: it must have the verdict of "
                f"{sorted(missing)[0]!r}, whose number is in the answer."
            )
    for claim, setting in listed["play"].items():
        if not SETTING.fullmatch(setting):
            raise UserError(f"findings.play.{claim}: {shown(setting)} is no setting: name=value&….")
    return listed


def _check(key: str, values: object, **kinds: type) -> None:
    """Raise a UserError unless ``values`` is a mapping that has values of these kinds."""
    words = {str: "text", list: "a list", dict: "a mapping of texts"}
    for name, kind in kinds.items():
        value = values.get(name) if isinstance(values, Mapping) else None
        texts = value if name in ("claims", "also") and isinstance(value, list) else []
        texts = [*value, *value.values()] if isinstance(value, dict) else texts
        right = isinstance(value, kind) and all(isinstance(text, str) for text in texts)
        check(right, f"{key}.{name}", value, f"it must be {words[kind]}")


def told(row: Row) -> str:
    """The result of a claim in numbers, or the reason why it was not run."""
    if row.verdict == judgement.NOT_RUN:
        return row.reason
    numbers = row.measured + (f" ({', '.join(row.details)})" if row.details else "")
    shown = row.measured != ABSENT and not (row.cases > 0 and row.reason)
    return "; ".join(filter(None, [numbers if shown else "", row.why]))
