"""Claims for each value of some names."""

import pytest

from verdicts.claims import resolved
from verdicts.claims.resolved import expanded
from verdicts.registry import UserError


def test_an_entry_is_one_claim_for_each_combination():
    entry = {
        "for_each": {"data": ["mnist", "digits"], "p": [0.5, 1]},
        "says": "with p = {p} on {data}", "where": {"dataset": "{data}", "p": ["{p}", 2]},
    }  # fmt: skip
    found = expanded("claims", {"a-{data}-{p}": entry, "b": {"says": "x {y}"}})
    assert list(found) == ["a-mnist-0.5", "a-mnist-1", "a-digits-0.5", "a-digits-1", "b"]
    assert found["a-digits-0.5"] == {
        "says": "with p = 0.5 on digits", "where": {"dataset": "digits", "p": [0.5, 2]}
    }  # fmt: skip
    assert found["b"] == {"says": "x {y}"}  # without for_each, braces are text
    assert "for_each" in entry


HALVES = {"n": {"iid": {"says": "iid"}, "noniid": {"says": "non-iid"}}}


def test_a_value_may_be_the_name_of_parts():
    entry = {"for_each": {"n": "all"}, "says": "on {n.says} data", "where": "{n}"}
    found = expanded("claims", {"a-{n}": entry}, HALVES)
    assert found["a-noniid"] == {"says": "on non-iid data", "where": "noniid"}
    assert list(found) == ["a-iid", "a-noniid"]
    entry["for_each"] = {"n": ["noniid"]}
    assert list(expanded("claims", {"a-{n}": entry}, HALVES)) == ["a-noniid"]


def test_an_entry_inside_an_entry_may_have_values_too():
    cells = {"{n}-{p}": {"for_each": {"p": [0.5, 1]}, "p": "{p}", "half": "{n.says}"}}
    found = expanded("claims", {"a-{n}": {"for_each": {"n": "all"}, "cells": cells}}, HALVES)
    assert found["a-noniid"]["cells"]["noniid-0.5"] == {"p": 0.5, "half": "non-iid"}
    found = expanded("claims", {"b": {"cells": {"p{p}": {"for_each": {"p": [2]}, "p": "{p}"}}}})
    assert found == {"b": {"cells": {"p2": {"p": 2}}}}


def test_a_file_does_not_write_out_too_much(monkeypatch):
    monkeypatch.setattr(resolved, "MOST", 5000)
    few = {"a{d}": {"for_each": {"d": [*range(100)]}, "cells": {}}}
    assert len(expanded("claims", few)) == 100
    many = {"a{d}": {"for_each": {"d": [*range(100)]}, "cells": few}}
    long = {"a": {"for_each": {"d": ["x" * 1000]}, "says": " {d}" * 10}}
    for entries in (many, long):
        with pytest.raises(UserError, match="for_each writes out more than 5,000 values"):
            expanded("claims", entries)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"a": {"for_each": {"d": ["x", "y"]}}}, "claims: the id 'a' occurs twice; it needs {d}"),
        ({"a-{e}": {"for_each": {"d": ["x"]}}}, "{e} has no value in for_each"),
        ({"{d}": {"for_each": {"d": [{"x": 1}]}}}, "claims.{d}: {'x': 1} is not allowed as an id"),
        ({"a": {"for_each": []}}, "for_each: [] is not allowed; give NAME: [values]"),
        ({"a": {"for_each": {"d": []}}}, "for_each.d: [] is not allowed; give a list"),
        ({"a-{n}": {"for_each": {"n": ["iid", "no"]}}}, "n: 'no' is unknown; allowed: iid, noniid"),
        ({"a-x": {}, "a-{d}": {"for_each": {"d": ["x"]}}}, "the id 'a-x' occurs twice"),
    ],
)
def test_mistakes_are_named_in_one_line(entries, said):
    with pytest.raises(UserError) as error:
        expanded("claims", entries, HALVES)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
