"""Verdicts as nanopublications (TriG), one for each claim.

They are not signed, and have the temporary addresses that tools replace when they sign. A
nanopublication has four graphs (https://nanopub.net/guidelines/working_draft/): a head, the
assertion, where it comes from, and what the publication is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import quote

from verdicts.render.forrt import CITO, TERMS, About, Outcome, outcomes
from verdicts.row import Row

TEMPORARY = "http://purl.org/nanopub/temp/verdicts/"
"""What the addresses of unsigned nanopublications begin with."""

PREFIXES = {
    "np": "http://www.nanopub.org/nschema#",
    "npx": "http://purl.org/nanopub/x/",
    "forrt": TERMS,
    "cito": CITO,
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def as_nanopubs(rows: Sequence[Row], about: About | None = None) -> str:
    """A nanopublication for each claim, one after the other; their cells have none.

    An address that ``about`` does not have is left out.
    """
    prefixes = "\n".join(f"@prefix {name}: <{base}> ." for name, base in PREFIXES.items())
    found = [_nanopub(outcome, about or About()) for outcome in outcomes(rows)]
    return "\n\n".join([prefixes, *found]) + "\n"


def _nanopub(outcome: Outcome, about: About) -> str:
    this = f"{TEMPORARY}{quote(outcome.claim, safe='')}/"
    time = f"{_text(about.time.isoformat())}^^xsd:dateTime"
    day = f"{_text(about.time.date().isoformat())}^^xsd:date"
    claimed = [("rdfs:label", _text(outcome.says))]
    claimed += [("dct:source", f"<{about.paper}>")] if about.paper else []
    found = [
        ("rdfs:label", _text(outcome.label)),
        ("forrt:isOutcomeOf", "sub:study"),
        ("schema:endDate", day),
        ("forrt:hasValidationStatus", f"forrt:{outcome.status}"),
        ("forrt:hasConfidenceLevel", f"forrt:{outcome.confidence}"),
        ("forrt:hasConclusionDescription", _text(outcome.conclusion)),
        ("forrt:hasEvidenceDescription", _text(outcome.evidence)),
    ]
    if outcome.limitations:
        found.append(("forrt:hasLimitationsDescription", _text(outcome.limitations)))
    if about.repository:
        found.append(("forrt:hasOutcomeRepository", f"<{about.repository}>"))
    if about.paper and outcome.relation:
        found.append((f"cito:{outcome.relation}", f"<{about.paper}>"))
    published = [
        ("rdfs:label", _text(outcome.label)),
        ("dct:created", time),
        ("npx:hasNanopubType", "forrt:FORRT-Replication-Outcome"),
        ("npx:introduces", "sub:outcome"),
    ]
    published += [("dct:license", f"<{about.license}>")] if about.license else []
    judged = [("prov:endedAtTime", time), ("prov:wasAssociatedWith", "sub:judge")]
    judged += [("prov:used", f"<{about.repository}>")] if about.repository else []
    graphs = {
        "head": [
            _said("this:", "np:Nanopublication", [
                ("np:hasAssertion", "sub:assertion"),
                ("np:hasProvenance", "sub:provenance"),
                ("np:hasPublicationInfo", "sub:pubinfo"),
            ])
        ],
        "assertion": [
            _said("sub:outcome", "forrt:FORRT-Replication-Outcome", found),
            _said("sub:study", "forrt:FORRT-Replication-Study", [
                ("rdfs:label", _text(f"Study: {outcome.says}")),
                ("forrt:targetsClaim", "sub:claim"),
            ]),
            _said("sub:claim", "forrt:FORRT-Claim", claimed),
        ],
        "provenance": [
            _said("sub:assertion", "", [("prov:wasGeneratedBy", "sub:judgement")]),
            _said("sub:judgement", "prov:Activity", judged),
            _said("sub:judge", "prov:SoftwareAgent", [("rdfs:label", _text("verdicts"))]),
        ],
        "pubinfo": [_said("this:", "", published)],
    }  # fmt: skip
    bodies = (f"sub:{name} {{\n" + "\n".join(said) + "\n}" for name, said in graphs.items())
    return f"@prefix this: <{this}> .\n@prefix sub: <{this}> .\n\n" + "\n\n".join(bodies)


def _said(subject: str, kind: str, properties: Sequence[tuple[str, str]]) -> str:
    given = [("a", kind), *properties] if kind else properties
    return f"  {subject} " + " ;\n    ".join(f"{name} {value}" for name, value in given) + " ."


def _text(plain: str) -> str:
    """A literal. JSON's escapes are among those of TriG."""
    return json.dumps(plain, ensure_ascii=False)
