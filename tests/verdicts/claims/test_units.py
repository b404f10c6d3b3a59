"""The unit of a claim that states none, and margins on shares of 1."""

import pytest
import yaml
from cases import cases

import ngo.analysis.quantities  # noqa: F401 (registers the values of runs, with their units)
from verdicts.claims.claims_file import read_claims
from verdicts.claims.conditions import known_unit
from verdicts.registry import UserError

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
