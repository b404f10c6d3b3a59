"""The shipped campaign in short: its answers and its verdicts, for the pages of smaller tiers.

A tier that trains in minutes decides few of the paper's claims. Its page has, in addition, what the
campaign found whose archive is shipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from verdicts.statistics.judgement import NOT_RUN, OVER_UNIVERSES, VERDICTS

if TYPE_CHECKING:
    from ngo.report.contents import Contents

SHIPPED = Path("docs/results/shipped.json")
"""Its place in the repository."""


@dataclass(frozen=True)
class Shipped:
    """The answers and the verdicts of the shipped campaign."""

    paper: str
    """The name of its paper."""
    tier: str
    answers: Mapping[str, str]
    """A sentence for each question."""
    verdicts: Mapping[str, tuple[str, str]]
    """Of each claim that was run, by id: the verdict, and what was measured."""


def as_shipped(contents: Contents) -> str:
    """The file on these contents."""
    run = [row for row in contents.rows if row.verdict != NOT_RUN]
    content = {
        "paper": contents.paper["name"],
        "tier": contents.tier,
        "answers": {each.question: each.sentence for each in contents.findings.answers},
        "verdicts": {row.claim: [row.verdict, row.measured] for row in run},
    }
    return json.dumps(content, indent=0, ensure_ascii=False) + "\n"


def read_shipped(path: Path) -> Shipped:
    """The content of the file; a one-line UserError if it is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        answers = {str(question): str(said) for question, said in content["answers"].items()}
        verdicts = {
            str(claim): (str(verdict), str(measured))
            for claim, (verdict, measured) in content["verdicts"].items()
        }
        paper, tier = str(content["paper"]), str(content["tier"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"report: {str(path)!r} is no file of shipped verdicts.") from None
    unknown = {verdict for verdict, _ in verdicts.values()} - {*VERDICTS, *OVER_UNIVERSES}
    if unknown:
        raise UserError(f"report: {str(path)!r} has the unknown verdict {min(unknown)!r}.")
    return Shipped(paper, tier, answers, verdicts)
