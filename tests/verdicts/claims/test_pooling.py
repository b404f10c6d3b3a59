"""The claims that a pooled claim names."""

import pytest
from quantities_for_tests import CLAIM, quantities, write  # noqa: F401

from verdicts.claims.claims_file import read_claims
from verdicts.registry import UserError

pytestmark = pytest.mark.usefixtures("quantities")


def pool(*names, **changes):
    return {"quantity": "pooled", "from": None, "with": {"claims": list(names)}, **changes}


def read(folder, claims):
    return read_claims(write(folder / "c.yaml", claims)).claims


def test_claims_are_named_by_id_or_pattern_each_counts_once(tmp_path):
    claims = {"b-2": {}, "a-1": {}, "b-1": {}, "b-pool": pool("b-*", "a-1", "b-1")}
    found = read(tmp_path, claims)
    assert found["b-pool"].pooled == ("b-2", "b-1", "a-1")
    assert (found["b-pool"].tables, found["a-1"].pooled) == ((), ())


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"p": pool("a-2")}, r"claims\.p\.with\.claims: 'a-2' is unknown; .* Did you mean 'a-1'"),
        ({"p": pool("b-*")}, r"claims\.p\.with\.claims: 'b-\*' is unknown"),
        ({"p": pool(3)}, r"claims\.p\.with\.claims: \[3\] is not allowed; it must be a name, or"),
        ({"q": pool("a-1"), "p": pool("q")}, "'q' can't be pooled: it is a pooled claim"),
        (
            {"b": {"kind": "equality", "above": None, "near": 1, "margin": 1}, "p": pool("*")},
            "'b' can't be pooled: it does not say that one number is above or below a value",
        ),
        (
            {"b": {"every_cell": True, "cells": {"x": {"p": 1}}}, "p": pool("b")},
            "'b' can't be pooled: it does not say",
        ),
        ({"b": {"universes": {}}, "p": pool("b")}, "'b' can't be pooled: it is about universes, n"),
        ({"b": {"exact": True}, "p": pool("b")}, "'b' can't be pooled: it has no number of each s"),
        ({"b": {"unit": "points"}, "p": pool("b")}, "'b' can't be pooled: its unit is 'points', a"),
        ({"p": pool("a-1", above=None, below=0)}, r"claims\.p\.below: not allowed with the quanti"),
        ({"p": {**pool("a-1"), "with": None}}, r"claims\.p\.with: 'claims' is missing"),
        ({"p": pool("a-1", gate="g")}, r"claims\.p: 'gate' is unknown"),
        ({"b": {"from": None}}, r"claims\.b: 'from' is missing"),
    ],
)
def test_mistakes_are_one_line(tmp_path, claims, message):
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path, {"a-1": {}, **claims})
    assert "\n" not in str(error.value)
