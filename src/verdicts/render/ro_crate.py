"""Verdicts as an RO-Crate 1.1: a review of each claim, with FORRT's terms for its outcome."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from verdicts.counts import counted, counts
from verdicts.render.forrt import CITO, RELATION, TERMS, About, Outcome, outcomes
from verdicts.row import Row

CRATE = "ro-crate-metadata.json"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"

OUTCOME = "FORRT-Replication-Outcome"
CONTEXT = {
    name: TERMS + name
    for name in (OUTCOME, "hasValidationStatus", "hasConfidenceLevel", "hasConclusionDescription",
                 "hasEvidenceDescription", "hasLimitationsDescription", "hasOutcomeRepository")
} | {relation: CITO + relation for relation in RELATION.values()}  # fmt: skip
"""The terms that the context of RO-Crate does not have."""

TYPES = {"csv": "text/csv", "txt": "text/plain", "md": "text/markdown", "json": "application/json",
         "html": "text/html", "trig": "application/trig"}  # fmt: skip

Entity = dict[str, object]


def as_ro_crate(rows: Sequence[Row], about: About | None = None, files: Iterable[str] = ()) -> str:
    """The content of ``ro-crate-metadata.json``; ``files`` are the others in its folder.

    Each claim is a ``Claim``, and its outcome a ``ClaimReview`` whose rating is the verdict.
    """
    about = about or About()
    found = outcomes(rows)
    parts = [name for name in files if name != CRATE]
    root = _entity(
        "./",
        "Dataset",
        name="Verdicts on claims",
        description=counted(counts(rows)),
        datePublished=about.time.isoformat(),
        license=_ref(about.license) if about.license else "No licence is stated.",
        hasPart=[_ref(name) for name in parts],
        mentions=[_ref(_review(each)) for each in found],
    )
    graph = [
        _entity(CRATE, "CreativeWork", about=_ref("./"), conformsTo=_ref(SPECIFICATION)),
        root,
        *(_entity(name, "File", encodingFormat=TYPES[name.rpartition(".")[2]]) for name in parts),
        *([_entity(about.license, "CreativeWork", name="Licence")] if about.license else []),
        *([_entity(about.paper, "ScholarlyArticle", name="Paper")] if about.paper else []),
        *([_entity(about.repository, "WebSite", name="Results")] if about.repository else []),
        *(_entity(f"#{_dashed(each)}", "Rating", name=each, alternateName=each)
          for each in dict.fromkeys(each.verdict for each in found)),
        *(_entity(TERMS + term, "DefinedTerm", name=term)
          for term in dict.fromkeys(t for each in found for t in (each.status, each.confidence))),
        *(entity for each in found for entity in _of_claim(each, about)),
    ]  # fmt: skip
    context = [f"{SPECIFICATION}/context", CONTEXT]
    content = {"@context": context, "@graph": graph}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _of_claim(outcome: Outcome, about: About) -> list[Entity]:
    claim, paper = f"#claim-{quote(outcome.claim)}", _ref(about.paper)
    found = _entity(
        _review(outcome),
        ["ClaimReview", OUTCOME],
        name=outcome.label,
        claimReviewed=outcome.says,
        itemReviewed=_ref(claim),
        reviewRating=_ref(f"#{_dashed(outcome.verdict)}"),
        hasValidationStatus=_ref(TERMS + outcome.status),
        hasConfidenceLevel=_ref(TERMS + outcome.confidence),
        hasConclusionDescription=outcome.conclusion,
        hasEvidenceDescription=outcome.evidence,
    )
    if outcome.limitations:
        found["hasLimitationsDescription"] = outcome.limitations
    if about.repository:
        found["hasOutcomeRepository"] = _ref(about.repository)
    if about.paper and outcome.relation:
        found[outcome.relation] = paper
    appears = {"appearance": paper} if about.paper else {}
    return [_entity(claim, "Claim", name=outcome.says, **appears), found]


def _review(outcome: Outcome) -> str:
    return f"#outcome-{quote(outcome.claim)}"


def _dashed(verdict: str) -> str:
    return "verdict-" + "-".join(verdict.replace(",", "").split())


def _entity(identifier: str, kind: str | list[str], **properties: object) -> Entity:
    return {"@id": identifier, "@type": kind, **properties}


def _ref(identifier: str) -> Entity:
    return {"@id": identifier}
