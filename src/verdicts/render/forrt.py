"""Verdicts as FORRT replication outcomes: which of FORRT's terms says what a verdict says.

The terms are those of the nanopublication templates for replication outcomes
(https://w3id.org/np/RA2zljn0Nw9SadppOyxZoh-_Rxosslrq-vYG-p9SttnJE): a validation status, which is
the direction of the evidence, and a level of confidence, which is its strength. A status implies a
relation of the Citation Typing Ontology (CiTO) to the paper, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from verdicts.registry import UserError, shown
from verdicts.render.text import details
from verdicts.row import Row
from verdicts.statistics.judgement import (
    DEPENDS,
    EQUIVALENT,
    FAILS,
    HOLDS,
    NO_EFFECT,
    NOT_RUN,
    REVERSED,
    ROBUST,
    UNDECIDED,
)

TERMS = "https://w3id.org/sciencelive/o/terms/"
CITO = "http://purl.org/spar/cito/"

BELOW_MARGIN = f"{HOLDS}, and the effect is smaller than the margin"

STATUS = {
    HOLDS: "Validated",
    BELOW_MARGIN: "PartiallySupported",
    FAILS: "Contradicted",
    EQUIVALENT: "Contradicted",
    UNDECIDED: "Inconclusive",
    NOT_RUN: "NotTested",
    ROBUST: "Validated",
    DEPENDS: "PartiallySupported",
    REVERSED: "Contradicted",
    NO_EFFECT: "Contradicted",
}
"""The validation status of each verdict."""

CONFIDENCE = {
    "Validated": "HighConfidence",
    "PartiallySupported": "HighConfidence",
    "Contradicted": "HighConfidence",
    "Inconclusive": "LowConfidence",
    "NotTested": "VeryLowConfidence",
}
"""The level of confidence of each status: decisions have an error rate."""

RELATION = {"Validated": "confirms", "PartiallySupported": "qualifies", "Contradicted": "disputes"}
"""CiTO's relation to the paper that each status implies; the others imply none."""


@dataclass(frozen=True)
class About:
    """What verdicts do not know of themselves. Addresses may be empty; they are checked."""

    paper: str = ""
    """Where the paper that makes the claims is."""
    repository: str = ""
    """Where the results and claims are."""
    license: str = ""
    """Of what is written."""
    time: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    """When the verdicts were made."""

    def __post_init__(self) -> None:
        for name in ("paper", "repository", "license"):
            value = getattr(self, name)
            if value and not re.fullmatch(r"https?://[^\x00-\x20<>\"{}|\\^`]+", value):
                raise UserError(f"{name}: {shown(value)} is not an address (https://…).")


@dataclass(frozen=True)
class Outcome:
    """The replication outcome of one claim."""

    claim: str
    says: str
    status: str
    """The name of a validation status, …"""
    confidence: str
    """… of a level of confidence, …"""
    relation: str
    """… and of a relation of CiTO; empty if none is implied."""
    verdict: str
    """The verdict itself, in the words of this package."""
    conclusion: str
    evidence: str
    limitations: str
    """May be empty."""

    @property
    def label(self) -> str:
        """A title of one line."""
        return f"Outcome: {self.says}"


def outcomes(rows: Iterable[Row]) -> list[Outcome]:
    """The outcomes of the claims among ``rows``; the cells of claims have none."""
    return [_outcome(row) for row in rows if not row.cell]


def _outcome(row: Row) -> Outcome:
    said = row.verdict + row.also
    status = STATUS[said if said in STATUS else row.verdict]
    where = f" ({row.place})" if row.place else ""
    limits = [row.why, row.registration]
    return Outcome(
        claim=row.claim,
        says=row.statement,
        status=status,
        confidence=CONFIDENCE[status],
        relation=RELATION.get(status, ""),
        verdict=said,
        conclusion=f"Verdict: {said}. Claim{where}: {row.statement}",
        evidence="; ".join(details(row)) or "none",
        limitations="; ".join(filter(None, limits)),
    )


def mapping_table() -> list[Mapping[str, str]]:
    """A line for each verdict, with the terms that say it."""
    return [
        {
            "verdict": verdict,
            "validation status": status,
            "confidence": CONFIDENCE[status],
            "CiTO relation": RELATION.get(status, "none"),
        }
        for verdict, status in STATUS.items()
    ]
