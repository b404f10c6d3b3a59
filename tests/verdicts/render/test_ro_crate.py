"""Verdicts as an RO-Crate 1.1: its structure. (Validated with roc-validator: docs/verdicts.md.)"""

import json
from datetime import UTC, datetime

from json_ld import references
from made_up_page import ROWS, row

from verdicts.render import About, as_ro_crate
from verdicts.render.forrt import TERMS
from verdicts.render.ro_crate import CONTEXT, CRATE

ABOUT = About(
    "https://example.org/paper", "https://example.org/results", "https://example.org/license",
    datetime(2026, 1, 31, 12, tzinfo=UTC),
)  # fmt: skip


def entities(rows=ROWS, about=ABOUT, files=()):
    content = json.loads(as_ro_crate(rows, about, files))
    assert content["@context"] == ["https://w3id.org/ro/crate/1.1/context", CONTEXT]
    found = {entity["@id"]: entity for entity in content["@graph"]}
    assert len(found) == len(content["@graph"])
    return found


def test_the_descriptor_and_the_root_have_what_the_specification_requires():
    found = entities(files=["verdicts.csv", "verdicts.trig", CRATE])
    assert found[CRATE]["about"] == {"@id": "./"}
    assert found[CRATE]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = found["./"]
    assert root["@type"] == "Dataset"
    assert root["datePublished"] == "2026-01-31T12:00:00+00:00"
    assert root["license"] == {"@id": "https://example.org/license"}
    assert root["description"].startswith("Of 5 claims, 1 holds, 1 fails")
    assert list(references(root["hasPart"])) == ["verdicts.csv", "verdicts.trig"]


def test_everything_that_is_referred_to_is_described():
    for about in (ABOUT, About()):
        found = entities(about=about)
        for entity in found.values():
            assert {*references(entity)} <= {*found, "https://w3id.org/ro/crate/1.1"}


def test_a_claim_has_a_review_with_the_verdict_and_forrts_terms():
    found = entities()
    review = found["#outcome-same"]
    assert review["@type"] == ["ClaimReview", "FORRT-Replication-Outcome"]
    assert review["itemReviewed"] == {"@id": "#claim-same"}
    assert found["#claim-same"]["appearance"] == {"@id": "https://example.org/paper"}
    assert found[review["reviewRating"]["@id"]]["alternateName"] == "equivalent"
    assert review["hasValidationStatus"] == {"@id": f"{TERMS}Contradicted"}
    assert review["disputes"] == {"@id": "https://example.org/paper"}
    assert "disputes" not in found["#outcome-later"]
    known = {"@id", "@type", "name", "claimReviewed", "itemReviewed", "reviewRating", *CONTEXT}
    assert set(review) <= known


def test_cells_are_no_claims():
    assert "#outcome-a" in entities([row("a"), row("a", cell="ring")])
