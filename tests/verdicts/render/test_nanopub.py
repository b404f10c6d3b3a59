"""Verdicts as nanopublications, read by rdflib."""

from datetime import UTC, datetime

import pytest
from made_up_page import ROWS, row

from verdicts.render import About, as_nanopubs
from verdicts.render.nanopub import PREFIXES, TEMPORARY

rdflib = pytest.importorskip("rdflib")
NP, FORRT, CITO, PROV = (
    rdflib.Namespace(PREFIXES[each]) for each in ("np", "forrt", "cito", "prov")
)
PAPER = "https://example.org/paper"
ABOUT = About(
    PAPER, "https://example.org/results", "https://creativecommons.org/licenses/by/4.0/",
    datetime(2026, 1, 31, 12, tzinfo=UTC),
)  # fmt: skip


def parsed(rows, about=ABOUT):
    found = rdflib.Dataset()
    found.parse(data=as_nanopubs(rows, about), format="trig")
    return found


def graph(found, claim, name):
    return found.graph(rdflib.URIRef(f"{TEMPORARY}{claim}/{name}"))


def test_each_claim_is_one_nanopublication_of_four_graphs():
    found = parsed([*ROWS, row("order", cell="ring")])
    wanted = [each.claim for each in ROWS]
    graphs = {str(each.identifier) for each in found.graphs() if len(each)}
    names = ("head", "assertion", "provenance", "pubinfo")
    assert graphs == {f"{TEMPORARY}{claim}/{name}" for claim in wanted for name in names}
    for claim in wanted:
        this = rdflib.URIRef(f"{TEMPORARY}{claim}/")
        head = graph(found, claim, "head")
        assert (this, rdflib.RDF.type, NP.Nanopublication) in head
        parts = {NP.hasAssertion: "assertion", NP.hasProvenance: "provenance",
                 NP.hasPublicationInfo: "pubinfo"}  # fmt: skip
        for relation, name in parts.items():
            assert head.value(this, relation) == rdflib.URIRef(f"{this}{name}")
        # Provenance is about the assertion, and publication info about the nanopublication.
        assertion = rdflib.URIRef(f"{this}assertion")
        assert (assertion, PROV.wasGeneratedBy, None) in graph(found, claim, "provenance")
        assert (this, None, None) in graph(found, claim, "pubinfo")


def test_an_assertion_is_an_outcome_with_the_templates_fields():
    found = graph(parsed(ROWS), "order", "assertion")
    outcome = rdflib.URIRef(f"{TEMPORARY}order/outcome")
    assert found.value(outcome, rdflib.RDF.type) == FORRT["FORRT-Replication-Outcome"]
    assert found.value(outcome, FORRT.hasValidationStatus) == FORRT.Validated
    assert found.value(outcome, FORRT.hasConfidenceLevel) == FORRT.HighConfidence
    assert found.value(outcome, FORRT.hasOutcomeRepository) == rdflib.URIRef(ABOUT.repository)
    assert found.value(outcome, CITO.confirms) == rdflib.URIRef(PAPER)
    ended = found.value(outcome, rdflib.URIRef("http://schema.org/endDate"))
    assert ended == rdflib.Literal("2026-01-31", datatype=rdflib.XSD.date)
    assert str(found.value(outcome, FORRT.hasConclusionDescription)).startswith("Verdict: holds.")
    study = found.value(outcome, FORRT.isOutcomeOf)
    claim = found.value(study, FORRT.targetsClaim)
    assert str(found.value(claim, rdflib.RDFS.label)) == "Statement of order"


def test_what_is_not_decided_relates_to_no_paper_and_nothing_is_made_up():
    found = parsed(ROWS)
    for claim in ("later", "open"):
        outcome = rdflib.URIRef(f"{TEMPORARY}{claim}/outcome")
        said = graph(found, claim, "assertion").predicates(outcome)
        assert not [each for each in said if str(each).startswith(str(CITO))]
    bare = as_nanopubs(ROWS, About(time=ABOUT.time))
    assert "dct:license" not in bare
    assert "hasOutcomeRepository" not in bare
    assert "<https://example" not in bare


@pytest.mark.parametrize(
    "hostile",
    [
        'a" . <x:y> <x:y> "b',
        'back\\slash\\"',
        "lines\n\r\n\ttab",
        '"""',
        "\x00\x1f\x7f",
        "≥ γ 𝛼 <b>",
    ],
)
def test_a_text_stays_a_text(hostile):
    rows = [
        row("a", says=hostile, place=hostile, reason=hostile, verdict="undecided", unit=hostile)
    ]
    found, plain = parsed(rows), parsed([row("a", verdict="undecided", reason="b")])
    assert len(found) == len(plain)
    claim = rdflib.URIRef(f"{TEMPORARY}a/claim")
    said = str(graph(found, "a", "assertion").value(claim, rdflib.RDFS.label))
    assert said.lower() == rows[0].statement.lower()


def test_an_id_from_a_strangers_table_stays_in_its_address():
    found = parsed([row("a> <x:y> b#c/d")])
    assert all(str(each.identifier).startswith(TEMPORARY) for each in found.graphs() if len(each))
