"""The form of a claim: what decides it, and no more."""

import math
from pathlib import Path

import pytest
import yaml
from quantities_for_tests import CLAIM, quantities, write  # noqa: F401

from verdicts.claims.claims_file import read_claims
from verdicts.claims.expanded_entries import Resolved, forms
from verdicts.files import read_mapping
from verdicts.registration import read_registration, registration_path

pytestmark = pytest.mark.usefixtures("quantities")

GATE = {"column": "score", "take": "min", "above": 1, "else": "untrained"}
ROOT = Path(__file__).parents[3]
REGISTERED = [ROOT / "config/reference/claims.yaml", *sorted(ROOT.glob("papers/*/claims.yaml"))]


def form(folder, change=(), gate=(), **sections):
    """The form of the claim ``a`` with changes."""
    content = {"claims": {"a": {**CLAIM, **dict(change)}}, "gates": {"g": {**GATE, **dict(gate)}}}
    return forms(Resolved({**content, **sections}, folder))["a"]


@pytest.mark.parametrize(
    "words",
    [{"place": "Table 2"}, {"says": "B"}, {"unit": "points"}, {"shows": "fig1"},
     {"kind": "trend"}, {"above": 0.0}],
)  # fmt: skip
def test_words_and_the_type_of_a_number_do_not_count(tmp_path, words):
    assert form(tmp_path, words) == form(tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"from": "u"}, {"where": {"p": 1}}, {"where": {"p": math.inf}}, {"quantity": "start"},
     {"with": {"value": "V"}},
     {"above": 1}, {"margin": 0.5}, {"family": "f"}, {"gate": "g"}, {"cells": {"x": {"p": 1}}},
     {"every_cell": True}, {"looks": [10, 20]}, {"universes": {}}],
)  # fmt: skip
def test_what_decides_a_claim_counts(tmp_path, change):
    assert form(tmp_path, change) != form(tmp_path)


def test_marks_gates_and_the_plan_of_the_file_count_without_their_words(tmp_path):
    found = [form(tmp_path, {mark: why}) for mark in ("trivial", "circular") for why in "xy"]
    assert found[0] == found[1] != found[2] == found[3]
    assert form(tmp_path) not in found
    gated = {"gate": "g"}
    assert form(tmp_path, gated, {"else": "not trained"}) == form(tmp_path, gated)
    assert form(tmp_path, gated, {"above": 2}) != form(tmp_path, gated)
    assert form(tmp_path, {"gate": ["g"]}) == form(tmp_path, gated)
    assert form(tmp_path, {}, {"above": 2}) == form(tmp_path)
    assert form(tmp_path, looks=[10]) == form(tmp_path, {"looks": [10]}) != form(tmp_path)
    over = {"universes": {}}  # it is judged once
    assert form(tmp_path, over, looks=[10]) == form(tmp_path, over)


def test_how_a_claim_is_written_does_not_count_but_a_printed_number_does(tmp_path):
    short = yaml.safe_load("""
        shared: {d: &d {place: here, says: "{x.id}", kind: order, from: t, quantity: end}}
        claims: {"{x.id}": {<<: *d, for_each: {x: [{id: a, n: 0}, {id: b, n: 0}]}, above: "{x.n}"}}
    """)
    found = forms(Resolved(short, tmp_path))
    assert found == {"a": form(tmp_path), "b": form(tmp_path)}
    paper = {"file": "n.csv", "column": "x", "where": {"p": 1}}
    change = {"above": None, "paper": paper, "margin": 1}
    found = []
    for text in ("p,x\n1,97.5\n", "p,x\n1,97.50\n", "p,x\n1,98\n"):
        (tmp_path / "n.csv").write_text(text)
        found.append(form(tmp_path, change))
    assert found[0] == found[1] != found[2]


def test_a_pooled_claim_changes_with_those_that_it_pools(tmp_path):
    def pooled(**changes):
        pool = {"quantity": "pooled", "from": None, "with": {"claims": "b-*"}}
        claims = {"b-1": {}, "b-2": changes, "c": {}, "pool": pool}
        return read_claims(write(tmp_path / "c.yaml", claims)).forms["pool"]

    assert pooled(says="other words") == pooled()
    assert pooled(above=1) != pooled()


@pytest.mark.parametrize("path", REGISTERED, ids=lambda path: path.parent.name)
def test_shipped_claims_have_the_forms_that_were_registered_last(path):
    known = read_registration(registration_path(path))
    found = forms(Resolved(read_mapping(path, "claims"), path.parent))
    assert found == {claim: known[claim][-1].form for claim in found}
