"""The file of claims: what it may contain, and one line for each mistake."""

import pytest
from quantities_for_tests import quantities, write  # noqa: F401

from verdicts.claims.claims_file import read_claims
from verdicts.registry import UserError
from verdicts.statistics.expectation import Expectation

pytestmark = pytest.mark.usefixtures("quantities")

GAP = {"of": {"method": "b"}, "than": {"method": "a"}, "to": {"method": "best"}}
GATE = {"column": "score", "take": "min", "above": 1, "else": "untrained"}


def test_a_cell_has_the_claims_expectation_or_its_own(tmp_path):
    cells = {"ring": {"topology": "ring"}, "other": {"p": 0.9, "near": 2}, "wide": {"margin": 3}}
    claims = {"a": {"kind": "bound", "margin": 0.5, "cells": cells}}
    found = read_claims(write(tmp_path / "c.yaml", claims)).claims["a"].cells
    assert found["ring"].where == {"topology": "ring"}
    assert found["ring"].expectation == Expectation("above", 0, 0.5)
    assert found["other"].where == {"p": 0.9}
    assert found["other"].expectation == Expectation("near", 2, 0.5)
    assert found["wide"].expectation == Expectation("above", 0, 3)


def test_the_name_of_a_network_becomes_its_numbers(tmp_path):
    claims = {"a": {"quantity": "within", "with": {"limit": "far"}, "above": None}, "b": {}}
    found = read_claims(write(tmp_path / "c.yaml", claims))
    far = {"latency": 1, "bandwidth": 1000, "step": 0}
    assert found.with_named("limit", {"far": far}).claims["a"].arguments == {"limit": far}
    assert found.with_named("limit", {"far": far}).claims["b"] == found.claims["b"]
    with pytest.raises(UserError, match=r"a\.with\.limit: 'far' is unknown; allowed: fast"):
        found.with_named("limit", {"fast": far})


def test_a_claim_takes_what_it_does_not_give_from_its_defaults(tmp_path):
    text = """
        values: {data: {one: {name: No. 1}, two: {name: No. 2}}}
        defaults:
          of-t: {place: Table 1, kind: order, from: t, quantity: end, above: 0, gate: "good-{data}"}
        gates:
          good-{data}: {for_each: {data: all}, column: x, take: min, above: 1, else: "{data.name}"}
        claims:
          a-{data}: {for_each: {data: all}, defaults: of-t, says: "{data.name}", place: Table 2}
          b: {defaults: of-t, says: b, gate: good-one}
    """
    (tmp_path / "c.yaml").write_text(text)
    found = read_claims(tmp_path / "c.yaml")
    said = {name: (each.says, each.place, each.gates) for name, each in found.claims.items()}
    assert said == {
        "a-one": ("No. 1", "Table 2", ("good-one",)), "a-two": ("No. 2", "Table 2", ("good-two",)),
        "b": ("b", "Table 1", ("good-one",)),
    }  # fmt: skip
    assert found.gates["good-two"].reason == "No. 2"
    (tmp_path / "c.yaml").write_text(text.replace("b: {defaults: of-t", "b: {defaults: off-t"))
    with pytest.raises(UserError, match=r"b\.defaults: 'off-t' is unknown; .*Did you mean 'of-t'"):
        read_claims(tmp_path / "c.yaml")


def test_a_printed_number_is_read_from_its_file(tmp_path):
    (tmp_path / "printed.csv").write_text("p,score\n1,97.5\n0.5,98\n")
    paper = {"file": "printed.csv", "column": "score", "where": {"p": "{p}"}}
    cells = {"p{p}": {"for_each": {"p": [0.5, 1]}, "p": "{p}", "paper": paper, "margin": 2}}
    claims = {"a": {"kind": "number", "above": None, "cells": cells, "every_cell": True}}
    found = read_claims(write(tmp_path / "c.yaml", claims))
    expected = {name: cell.expectation for name, cell in found.claims["a"].cells.items()}
    assert expected == {"p0.5": Expectation("paper", 98, 2), "p1": Expectation("paper", 97.5, 2)}
    assert found.printed == (tmp_path / "printed.csv",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plac": "1"}, r"claims\.a: 'plac' is unknown; allowed: .*Did you mean 'place'\?"),
        ({"says": None}, r"claims\.a: 'says' is missing\."),
        ({"says": "two\nlines"}, r"claims\.a\.says: .* is not allowed; it must be text in one"),
        (
            {"from": "../t"},
            r"claims\.a\.from: '\.\./t' is not allowed; name a table of the tables'",
        ),
        ({"quantity": "ende"}, r"claims\.a\.quantity: 'ende' is unknown; .* Did you mean 'end'\?"),
        ({"quantity": "within", "above": None}, r"claims\.a\.with: 'limit' is missing; 'within'"),
        (
            {"quantity": "within", "with": {"limit": 1}},
            r"claims\.a\.above: the quantity 'within' has cases; name none of above, below",
        ),
        ({"above": None}, r"claims\.a: one of above, below, near, paper is missing"),
        ({"below": 1}, r"claims\.a: above and below are both given; name one"),
        ({"trivial": "x", "circular": "y"}, r"claims\.a: trivial and circular are both"),
        ({"margin": 0}, r"claims\.a\.margin: 0 is not allowed; it must be above 0"),
        (
            {"above": None, "near": 1, "kind": "equality"},
            r"claims\.a: 'margin' is missing; 'near' needs it",
        ),
        (
            {"above": None, "near": 1, "margin": 1},
            r"claims\.a\.near: not allowed for a claim of kind 'order'; allowed: above, below",
        ),
        ({"where": {"p": float("nan")}}, r"claims\.a\.where\.p: nan is not allowed; name a value"),
        ({"gate": "traind"}, r"claims\.a\.gate: 'traind' is unknown; .* Did you mean 'trained'\?"),
        ({"every_cell": True}, r"claims\.a\.every_cell: true needs 'cells'"),
        (
            {"above": None, "cells": {"x": {"p": 1}}, "every_cell": True},
            r"claims\.a\.cells\.x: one of above, below, near, paper is missing",
        ),
        (
            {"exact": True, "looks": [3, 6]},
            r"claims\.a\.exact: not allowed with 'looks', 'universes'",
        ),
        (
            {"quantity": "remaining_gap", "with": GAP, "universes": {}},
            r"claims\.a\.universes: 'remaining_gap' is a ratio of means over seeds",
        ),
    ],
)
def test_mistakes_in_a_claim(tmp_path, change, message):
    path = write(tmp_path / "c.yaml", {"a": change}, {"trained": {**GATE}})
    with pytest.raises(UserError, match=message) as error:
        read_claims(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("quantity", "arguments", "message"),
    [
        ("level", {"over": "size"}, r"over: 'size' is not allowed; it must be a list"),
        (
            "level",
            {"value": {"mean": [1]}},
            r"value: \[1\] is not allowed; name a column, or a numb",
        ),
        ("contrast", {"terms": {"weight": 1}}, r"terms: .* is not allowed; it must be a list"),
        ("contrast", {"terms": [{"weight": float("inf")}]}, r"terms.weight: inf is not allowed"),
        ("difference", {"of": {"p": {"mn": 1}}}, r"of\.p: 'mn' is unknown; allowed: max, min"),
    ],
)
def test_mistakes_in_the_arguments_of_a_quantity(tmp_path, quantity, arguments, message):
    sides = {"of": {}, "minus": {}} if "difference" in quantity else {}
    claim = {"quantity": quantity, "with": {**sides, **arguments}}
    with pytest.raises(UserError, match=rf"claims\.a\.with\.{message}"):
        read_claims(write(tmp_path / "c.yaml", {"a": claim}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quantity": "end"}, r"gates\.g: one of column, quantity must be given"),
        ({"above": None}, r"gates\.g: one of above, below is missing"),
        (
            {"column": None, "quantity": "within", "with": {"limit": 1}},
            r"gates\.g\.quantity: 'within' has cases; a gate needs numbers",
        ),
        (
            {"column": None, "quantity": "remaining_gap", "with": GAP},
            r"gates\.g\.quantity: 'remaining_gap' has no number of one seed; a gate needs numbers",
        ),
    ],
)
def test_mistakes_in_a_gate(tmp_path, change, message):
    gate = {key: value for key, value in {**GATE, **change}.items() if value is not None}
    with pytest.raises(UserError, match=message):
        read_claims(write(tmp_path / "c.yaml", {"a": {}}, {"g": gate}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claims: {a b: {}}", "claims: the id 'a b' is not allowed; use letters"),
        (
            "claim: {}",
            "claims: 'claim' is unknown; allowed: claims, defaults, gates, looks, optional",
        ),
        ("{looks: [20, 10], claims: {}}", r"looks: \[20, 10\] is not allowed; give rising numbers"),
        ("claims: {a: {}, a: {}}", "claims: '.*c.yaml', line 1: 'a' is already defined"),
    ],
)
def test_mistakes_in_the_file(tmp_path, text, message):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(UserError, match=message):
        read_claims(tmp_path / "c.yaml")


def test_a_plan_is_of_all_claims_unless_one_names_its_own(tmp_path):
    path = write(tmp_path / "c.yaml", {"a": {}, "b-1": {"looks": [5, 10]}})
    path.write_text("looks: [10, 20]\n" + path.read_text())
    claims = read_claims(path)
    assert [claim.looks for claim in claims.claims.values()] == [(10, 20), (5, 10)]
    assert claims.tables == ("added_a", "added_b_1", "t")
    plain = read_claims(write(tmp_path / "d.yaml", {"a": {}}))
    assert plain.claims["a"].looks == ()
    assert plain.tables == ("t",)
