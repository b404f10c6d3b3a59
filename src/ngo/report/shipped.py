"""The shipped campaign in short: its answers and its verdicts, for the pages of smaller tiers.

A tier that trains in minutes decides few of the paper's claims. Its page has, in addition, what the
campaign found whose archive is shipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from verdicts.statistics.judgement import NOT_RUN

if TYPE_CHECKING:
    from ngo.report.contents import Contents

#: Its place in the repository.
SHIPPED = Path("docs/results/shipped.json")


@dataclass(frozen=True)
class Shipped:
    """The answers and the verdicts of the shipped campaign: the content of the file."""

    #: The name of its paper.
    paper: str
    tier: str
    #: A sentence for each question.
    answers: Mapping[str, str]
    #: Of each claim that was run, by id: the verdict, and what was measured.
    verdicts: Mapping[str, Sequence[str]]


def as_shipped(contents: Contents) -> str:
    """The file on these contents."""
    run = [row for row in contents.rows if row.verdict != NOT_RUN]
    content = Shipped(
        contents.paper["name"],
        contents.tier,
        {each.question: each.sentence for each in contents.findings.answers},
        {row.claim: [row.verdict, row.measured] for row in run},
    )
    return json.dumps(asdict(content), indent=0, ensure_ascii=False) + "\n"


def read_shipped(path: Path) -> Shipped:
    """The content of the file."""
    return Shipped(**json.loads(path.read_text(encoding="utf-8")))
