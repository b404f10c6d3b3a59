"""The file of claims: what it and its gates may contain, and one line for each mistake."""

import math

import pandas as pd
import pytest
import yaml
from cases import cases, mistake_of, refused
from quantities_for_tests import (  # noqa: F401
    quantities,
    write,
)

import ngo.analysis.quantities  # noqa: F401 (registers the values of runs, with their units)
from verdicts.claims import Gate, expanded_entries
from verdicts.claims.claims_file import read_claims
from verdicts.claims.conditions import check_gate, known_unit, passing
from verdicts.claims.expanded_entries import PrintedNumbers, expanded
from verdicts.registry import UserError
from verdicts.statistics.evidence import Expectation

pytestmark = pytest.mark.usefixtures("quantities")

GAP = {"of": {"method": "b"}, "than": {"method": "a"}, "to": {"method": "best"}}
LIMIT = {"quantity": "within", "with": {"limit": 1}}
NEAR = {"above": None, "near": 1}
RATIO = {"quantity": "remaining_gap", "with": GAP}
GATE = {"column": "score", "take": "min", "above": 1, "else": "untrained"}
TABLE = "data,graph,accuracy,note\nmnist,,97.5,\nmnist,ring,96.4,0.95\nmnist,grid,about 90,\n"
GAMMAS = ("a", 1, "x"), ("b", 1, "y"), ("c", 2, "x")
WAYS = ("plain", "momentum")
TRAINED = {  # one printed number for both ways of training
    f"{method} {way}": {"method": method, "graph": graph, "rule": way, "above": value}
    for method, graph, value in (("s", "none", 3), ("x", "ring", 4), ("y", "ring", 4))
    for way in WAYS
}


def test_a_cell_has_the_claims_expectation_or_its_own(tmp_path):
    cells = {"ring": {"topology": "ring"}, "other": {"p": 0.9, "near": 2}, "wide": {"margin": 3}}
    claims = {"a": {"kind": "bound", "margin": 0.5, "cells": cells}}
    found = read_claims(write(tmp_path / "c.yaml", claims)).claims["a"].cells
    assert found["ring"].where == {"topology": "ring"}
    assert found["ring"].expectation == Expectation("above", 0, 0.5)
    assert found["other"].where == {"p": 0.9}
    assert found["other"].expectation == Expectation("near", 2, 0.5)
    assert found["wide"].expectation == Expectation("above", 0, 3)


@cases(
    "change, kind",
    ({}, "order"),
    ({**NEAR, "margin": 1}, "equality"),
    ({"above": None, "paper": 1}, "number"),
    ({"above": None, "cells": {"c": {"paper": 1}}, "every_cell": True}, "number"),
    ({"above": None, **LIMIT}, "theorem"),
)
def test_the_kind_follows_from_the_relation_and_the_place_may_be_left_out(tmp_path, change, kind):
    claims = {"a": {"kind": None, "place": None, **change}}
    claim = read_claims(write(tmp_path / "c.yaml", claims)).claims["a"]
    assert (claim.kind, claim.place) == (kind, "")


def test_the_name_of_a_network_becomes_its_numbers(tmp_path):
    claims = {"a": {"quantity": "within", "with": {"limit": "far"}, "above": None}, "b": {}}
    found = read_claims(write(tmp_path / "c.yaml", claims))
    far = {"latency": 1, "bandwidth": 1000, "step": 0}
    assert found.with_named("limit", {"far": far}).claims["a"].arguments == {"limit": far}
    assert found.with_named("limit", {"far": far}).claims["b"] == found.claims["b"]
    with pytest.raises(UserError, match=r"a\.with\.limit: 'far' is unknown; allowed: fast"):
        found.with_named("limit", {"fast": far})


def test_claims_and_gates_share_values_by_anchors(tmp_path):
    (tmp_path / "c.yaml").write_text("""
        shared:
          data: &data [&one {id: one, name: No. 1}, {id: two, name: No. 2}]
          of-t: &of-t
            {place: Table 1, kind: order, from: t, quantity: end, above: 0, gate: "good-{data.id}"}
        gates:
          good-{data.id}:
            {for_each: {data: *data}, column: x, take: min, above: 1, else: "{data.name}"}
        claims:
          a-{data.id}: {for_each: {data: *data}, <<: *of-t, says: "{data.name}", place: Table 2}
          b: {for_each: {data: [*one]}, <<: *of-t, says: b}
    """)
    found = read_claims(tmp_path / "c.yaml")
    said = {name: (each.says, each.place, each.gates) for name, each in found.claims.items()}
    one, two = ("No. 1", "Table 2", ("good-one",)), ("No. 2", "Table 2", ("good-two",))
    assert said == {"a-one": one, "a-two": two, "b": ("b", "Table 1", ("good-one",))}
    assert found.gates["good-two"].reason == "No. 2"


def test_a_printed_number_is_read_from_its_file(tmp_path):
    (tmp_path / "printed.csv").write_text("p,score,seeds\n1,97.5,\n0.5,98,3\n")
    paper = {"file": "printed.csv", "column": "score", "where": {"p": "{p}"}}
    cells = {"p{p}": {"for_each": {"p": [0.5, 1]}, "p": "{p}", "paper": paper}}
    gap = {**paper, "where": {"p": 0.5}, "minus": {"p": 1}}
    number = {"kind": "number", "above": None}
    claims = {"a": {**number, "cells": cells, "every_cell": True}}
    claims["b"] = {**number, "paper": gap, "standard_error": 0.1}
    found = read_claims(write(tmp_path / "c.yaml", claims))
    expected = {name: cell.expectation for name, cell in found.claims["a"].cells.items()}
    ours = {"p0.5": Expectation("paper", 98, seeds=3, rounding=0.5)}
    ours["p1"] = Expectation("paper", 97.5, rounding=0.05)
    assert expected == ours
    gap = Expectation("paper", 0.5, error=0.1, seeds=3, rounding=0.55)
    assert found.claims["b"].expectation == gap
    assert found.printed == (tmp_path / "printed.csv",)


def pool(*names, **changes):
    return {"quantity": "pooled", "from": None, "with": {"claims": list(names)}, **changes}


@cases(
    "claim, message",
    ({"plac": "1"}, r"claims\.a: 'plac' is unknown; allowed: .*Did you mean 'place'\?"),
    ({"says": "two\nlines"}, r"claims\.a\.says: .* is not allowed; it must be text in one"),
    ({"from": "../t"}, r"claims\.a\.from: '\.\./t' is not allowed; name a table of the tables"),
    ({"quantity": "ende"}, r"claims\.a\.quantity: 'ende' is unknown; .* Did you mean 'end'\?"),
    ({"quantity": "within", "above": None}, r"claims\.a\.with: 'limit' is missing; 'within'"),
    (LIMIT, r"claims\.a\.above: the quantity 'within'"),
    ({"above": None}, r"claims\.a: one of above, below, near, paper is missing"),
    ({"below": 1}, r"claims\.a: above and below are both given; name one"),
    ({"above": None, "paper": 1, "kind": "number", "margin": 1}, r"claims\.a\.margin: not all"),
    ({"standard_error": 1}, r"claims\.a\.standard_error: it is that of a printed number"),
    ({"depends_on": "p"}, r"claims\.a\.depends_on: it needs 'cells': its values"),
    ({"margin": 0}, r"claims\.a\.margin: 0 is not allowed; it must be above 0"),
    ({**NEAR, "kind": "equality"}, r"claims\.a: 'margin' is missing; 'near'"),
    ({**NEAR, "margin": 1}, r"claims\.a\.near: not allowed for a claim of k"),
    ({"where": {"p": float("nan")}}, r"claims\.a\.where\.p: nan is not allowed; name a value"),
    ({"gate": "traind"}, r"claims\.a\.gate: 'traind' is unknown; .* Did you mean 'trained'\?"),
    ({"exact": True, "looks": [3, 6]}, r"claims\.a\.exact: not allowed with 'looks', 'univers"),
    ({**RATIO, "universes": {}}, r"claims\.a\.universes: 'remaining_gap' is a ratio of means"),
    ({"universes": {"gat": {}}}, r"claims\.a\.universes: 'gat' is unknown"),
    ({"universes": {"gate": {"column": "x"}}}, r"a\.universes\.gate: 'take' is missing"),
    ({"universes": {}, "looks": [3, 6]}, r"claims\.a\.looks: not allowed with 'universes'"),
    ({"quantity": "level", "with": {"over": "size"}}, r"over: 'size' is not allowed; it must"),
    ({"quantity": "level", "with": {"value": {"mean": [1]}}}, r"value: \[1\] is not allowed"),
    ({"quantity": "contrast", "with": {"terms": {"weight": 1}}}, r"terms: .* it must be a l"),
    ({"quantity": "level", "where": {"p": {"mn": 1}}}, r"where\.p: 'mn' is unknown; al"),
    (pool("b-2"), r"claims\.a\.with\.claims: 'b-2' is unknown; .* Did you mean 'b-1'"),
    (pool("pool"), "'pool' can't be pooled: it is a pooled claim"),
    (pool("over"), "'over' can't be pooled: it is about universes, n"),
    (pool("exact"), "'exact' can't be pooled: it has no number of each s"),
    (pool("points"), "'points' can't be pooled: its unit is 'points', a"),
    (pool("b-1", above=None, below=0), r"claims\.a\.below: not allowed with the quanti"),
    (pool("b-1", gate="g"), r"claims\.a: 'gate' is unknown"),
)
def test_mistakes_in_a_claim(tmp_path, claim, message):
    others = {"b-1": {}, "pool": pool("b-1"), "over": {"universes": {}}, "exact": {"exact": True}}
    claims = {"a": claim, **others, "points": {"unit": "points"}}
    refused(message, read_claims, write(tmp_path / "c.yaml", claims, {"trained": GATE}))


@cases(
    "gate, message",
    ({"quantity": "end"}, r"gates\.g: one of column, quantity must be given"),
    ({"above": None}, r"gates\.g: one of above, below is missing"),
    ({"late": "31 January"}, r"gates\.g\.late: '31 January' is not allowed; give a day like"),
    ({"column": None, **RATIO}, r"gates\.g\.quantity: 'remaining_gap' has no number of one se"),
)
def test_mistakes_in_a_gate(tmp_path, gate, message):
    gate = {key: value for key, value in {**GATE, **gate}.items() if value is not None}
    refused(message, read_claims, write(tmp_path / "c.yaml", {"a": {}}, {"g": gate}))


@cases(
    "text, message",
    ("claims: {a b: {}}", "claims: the id 'a b' is not allowed; use letters"),
    ("claims: [1]", r"claims: \[1\] is not allowed; it must be a mapping\."),
    ("claim: {}", "claims: 'claim' is unknown; allowed: claims, gates, looks, optional, sha"),
    ("{looks: [20, 10], claims: {}}", r"looks: \[20, 10\] is not allowed; give rising numbers"),
    ("claims: {a: {}, a: {}}", "claims: '.*c.yaml', line 1: 'a' is already defined"),
)
def test_mistakes_in_the_file(tmp_path, text, message):
    (tmp_path / "c.yaml").write_text(text)
    refused(message, read_claims, tmp_path / "c.yaml")


@pytest.fixture
def printed(tmp_path):
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe,\n\xff,1\n")
    (tmp_path / "wide.csv").write_text("accuracy\n1,2\n")
    return PrintedNumbers(tmp_path)


def entry(file="table.csv", column="accuracy", **where):
    return {"file": file, "column": column, "where": where}


@cases(
    "wrong, said",
    ({"file": "table.csv"}, "k: {'file': 'table.csv'} is not allowed; give a number, or file,"),
    (entry("../table.csv"), "k.file: '../table.csv' is not allowed; name a .csv file"),
    (entry("tabel.csv"), "tabel.csv' does not exist"),
    (entry("bytes.csv"), "k.file: 'bytes.csv' can't be read: "),
    (entry(column="acuracy"), "k: 'acuracy' is unknown; allowed: accuracy, data, graph, note."),
    (entry(data="mnist"), "k: 3 rows of 'table.csv' have {'data': 'mnist'}; one must"),
    (entry(graph="grid"), "k: 'about 90' in 'table.csv' is not a number"),
    (entry("wide.csv"), "k.file: 'wide.csv' has a row with more values than columns"),
)
def test_mistakes_in_a_printed_number(printed, wrong, said):
    assert said in mistake_of(printed.number, "k", wrong)


def test_an_entry_is_one_claim_for_each_combination():
    each = {"data": ["mnist", "digits"], "p": [0.5, 1]}
    entry = {"for_each": each, "says": "with p = {p} on {data}"}
    entry["where"] = {"dataset": "{data}", "p": ["{p}", 2]}
    found = expanded("claims", {"a-{data}-{p}": entry, "b": {"says": "x {y}"}})
    assert list(found) == ["a-mnist-0.5", "a-mnist-1", "a-digits-0.5", "a-digits-1", "b"]
    where = {"dataset": "digits", "p": [0.5, 2]}
    assert found["a-digits-0.5"] == {"says": "with p = 0.5 on digits", "where": where}
    assert found["b"] == {"says": "x {y}"}  # without for_each, braces are text
    assert "for_each" in entry


def test_a_file_does_not_write_out_too_much(monkeypatch):
    monkeypatch.setattr(expanded_entries, "MOST", 5000)
    few = {"a{d}": {"for_each": {"d": [*range(100)]}, "cells": {}}}
    assert len(expanded("claims", few)) == 100
    many = {"a{d}": {"for_each": {"d": [*range(100)]}, "cells": few}}
    long = {"a": {"for_each": {"d": ["x" * 1000]}, "says": " {d}" * 10}}
    large = {"a": {"for_each": {"d": [{"x": [*range(1000)]}]}, "says": ["{d.x}"] * 10}}
    for entries in (many, long, large):
        refused("for_each writes out more than 5,000 values", expanded, "claims", entries)


@cases(
    "entries, said",
    ({"a": {"for_each": {"d": ["x", "y"]}}}, "claims: the id 'a' occurs twice; it needs {d}"),
    ({"a-{e}": {"for_each": {"d": ["x"]}}}, "{e} has no value in for_each"),
    ({"{d}": {"for_each": {"d": [{"x": 1}]}}}, "claims.{d}: {'x': 1} is not allowed as an id"),
    ({"a": {"for_each": {"d": []}}}, "for_each.d: [] is not allowed; give a list"),
    ({"a": {"for_each": {"d": "all"}}}, "for_each.d: 'all' is not allowed; give a list of val"),
    ({"a-{d.y}": {"for_each": {"d": [{"x": 1}]}}}, "claims.a-{d.y}: {d.y} has no value in for"),
    ({"a-{d}": {"for_each": {"d": [{"x": 1}]}}}, "{d} is a mapping; name one of {d.x}"),
)
def test_mistakes_in_values_of_each(entries, said):
    assert said in mistake_of(expanded, "claims", entries)


def test_claims_are_named_by_id_or_pattern_each_counts_once(tmp_path):
    claims = {"b-2": {}, "a-1": {}, "b-1": {}, "b-pool": pool("b-*", "a-1", "b-1")}
    found = read_claims(write(tmp_path / "c.yaml", claims)).claims
    assert found["b-pool"].pooled == ("b-2", "b-1", "a-1")
    assert (found["b-pool"].tables, found["a-1"].pooled) == ((), ())


@cases(
    "name, cells, expected",
    ("p", {"a": {"p": 1}, "b": {"p": 0.5}}, {"a": ["a"], "b": ["b"]}),
    ("γ", {k: {"gamma": g, "d": d} for k, g, d in GAMMAS}, {"1": ["a", "b"], "c": ["c"]}),
    ("the way of training", TRAINED, {w: [f"{m} {w}" for m in "sxy"] for w in WAYS}),
    ("a word", {"a": {"d": 1, "above": 3}, "b": {"d": 2, "above": 4}}, {"a": ["a"], "b": ["b"]}),
)
def test_the_values_of_a_setting_that_is_open_have_their_own_cells(tmp_path, name, cells, expected):
    claims = {"a": {"kind": "bound", "cells": cells, "depends_on": name}}
    assert read_claims(write(tmp_path / "c.yaml", claims)).claims["a"].open_values == expected


CLAIM = {"place": "here", "says": "a", "kind": "order", "from": "t", "above": 0}
SIDES = {"of": {"method": "b"}, "minus": {"method": "a"}}
TO = {"of": {"method": "b"}, "to": {"method": "a"}}


def read(tmp_path, claims):
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump({"claims": claims}))
    return read_claims(path).claims


@cases(
    "quantity, given, unit",
    ("difference", {**SIDES, "value": "workers_accuracy_mean"}, "share of 1"),
    ("difference", {**SIDES, "value": {"max": "consensus_accuracy"}}, "share of 1"),
    ("difference", {**SIDES, "value": {"steps_to_accuracy": 90}}, "steps"),
    ("difference", {**SIDES, "value": "loss"}, "of loss"),
    ("difference", {**SIDES, "value": "score"}, ""),
    ("log_ratio", {**TO, "value": "loss"}, "log ratio"),
    ("slope", {"along": "p"}, "points for 1 of p"),
    ("slope", {"along": "workers", "log_along": True}, "points for a factor e of workers"),
)
def test_the_unit_follows_from_the_quantity_and_its_value(tmp_path, quantity, given, unit):
    claims = read(tmp_path, {"a": {**CLAIM, "quantity": quantity, "with": given}})
    assert known_unit(claims["a"], claims) == unit


def test_a_stated_unit_counts_and_margins_fit_the_unit(tmp_path):
    own = {**CLAIM, "quantity": "difference", "with": SIDES}
    pool = {**CLAIM, "quantity": "pooled", "with": {"claims": ["a"]}}
    del pool["from"]
    claims = read(tmp_path, {"a": own, "b": {**own, "unit": "percent"}, "pool": pool})
    assert [known_unit(each, claims) for each in claims.values()] == ["points", "percent", "points"]
    claim = {**CLAIM, "quantity": "difference", "with": {**SIDES, "value": "workers_accuracy_min"}}
    with pytest.raises(UserError, match=r"^claims\.a\.margin: 1 is not allowed, it would be 100 p"):
        read(tmp_path, {"a": {**claim, "margin": 1}})
    with pytest.raises(UserError, match=r"^claims\.a\.cells\.ring\.margin: "):
        read(tmp_path, {"a": {**claim, "cells": {"ring": {"topology": "ring", "margin": 1}}}})
    assert "a" in read(tmp_path, {"a": {**claim, "margin": 0.005}})


ROWS = pd.DataFrame({"run": [*"aab"], "step": [0, 9, 9], "seed": [0, 0, 1]})
ROWS["score"] = [0.1, 0.8, 0.9]


def gate(**changes):
    fields = {
        "name": "trained", "tables": (), "where": {}, "column": "score", "quantity": None,
        "arguments": {}, "take": "min", "above": 0.7, "below": None, "reason": "untrained",
    }  # fmt: skip
    return Gate(**{**fields, **changes})


@cases(
    "changes",
    {"take": "mean", "above": 0.84, "below": 0.86},
    {"column": None, "quantity": "end"},
    {"tables": ("other",), "above": 6},
)
def test_runs_that_pass(changes):
    check_gate(gate(**changes), ROWS, {"other": ROWS.assign(score=7)})


@cases(
    "changes, message",
    ({"above": 0.8}, "^untrained: min score is 0.8, must be above 0.8$"),
    ({"above": 0.1, "below": 0.5}, "must be above 0.1 and below 0.5$"),
    ({"column": "V"}, "^gate trained: there is no column 'V'"),
    ({"where": {"run": "z"}}, "^gate trained: no rows with run z, only a, b$"),
)
def test_runs_that_do_not_pass(changes, message):
    refused(message, check_gate, gate(**changes), ROWS, {})


@cases(
    "changes, passes",
    ({}, {0}),
    ({"take": "max"}, {0, 1}),
    ({"where": {"run": "b"}}, {0, 1}),
    ({"above": None, "below": 0.75}, {1}),
    ({"column": "V"}, set()),
    ({"where": {"V": 1}}, set()),
    ({"column": None, "quantity": "end"}, set()),  # each is asked alone
)
def test_all_universes_are_asked_at_once_as_each_alone(changes, passes):
    lower = ROWS.assign(universe=1, score=ROWS["score"].where(ROWS["run"] == "b", 0.2))
    missing = ROWS.assign(universe=2, score=math.nan)
    rows = pd.concat([ROWS.assign(universe=0), lower, missing], ignore_index=True)
    assert passing(gate(**changes), rows) == passes
    for universe in passes:
        check_gate(gate(**changes), rows[rows["universe"] == universe], {})


@pytest.mark.parametrize("first", [True, False])
def test_a_diverged_run_has_the_worst_value(first):
    rows = ROWS.assign(diverged=[first, not first, False])
    refused("min score is -inf, must be above 0.7", check_gate, gate(), rows, {})
    assert passing(gate(), rows.assign(universe=0)) == set()
    with pytest.raises(UserError, match="max diverged is 1, must be below 0.5"):
        check_gate(gate(column="diverged", take="max", above=None, below=0.5), rows, {})
