"""The JSON Schema of claims files."""

import json

import jsonschema
import pytest
import yaml
from foreign import CLAIMS, write

import verdicts
from verdicts.claims.claims_file import CLAIM_KEYS, GATE_KEYS, KINDS, SECTIONS, TAKEN, schema
from verdicts.cli import main
from verdicts.quantity_registry import QUANTITIES


def test_the_schema_has_the_keys_and_names_of_the_reader():
    sections = schema()["properties"]
    claim, gate = (
        sections[name]["additionalProperties"]["properties"] for name in ("defaults", "gates")
    )
    assert set(sections) == set(SECTIONS)
    assert set(claim) == {*CLAIM_KEYS, "for_each", "defaults"}
    assert set(gate) == {*GATE_KEYS, "for_each"}
    assert claim["kind"]["enum"] == list(KINDS)
    assert gate["take"]["anyOf"][0]["enum"] == list(TAKEN)
    assert claim["quantity"]["enum"] == gate["quantity"]["enum"] == sorted(QUANTITIES)


def test_the_schema_accepts_claims_files_and_refuses_what_the_reader_refuses(tmp_path, capsys):
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(printed)
    validator = jsonschema.Draft202012Validator(printed)
    assert validator.is_valid(yaml.safe_load(CLAIMS))
    short = {"values": {"n": {"one": {"m": 2}}}, "defaults": {"d": {"margin": "{n.m}"}}}
    short["claims"] = {"{n}": {"for_each": {"n": "all"}, "defaults": "d", "says": "{n}"}}
    assert validator.is_valid(short)
    pooled = {**yaml.safe_load(CLAIMS)["claims"]["faster"], "quantity": "pooled"}
    del pooled["from"]
    assert validator.is_valid({"claims": {"p": {**pooled, "with": {"claims": ["faster"]}}}})
    assert not validator.is_valid({"claims": {"p": {**pooled, "quantity": "level"}}})
    assert not validator.is_valid({**short, "defaults": {"d": {"kin": "order"}}})
    for wrong in (("says:", "say:"), ("kind: order", "kind: odd"), ("above: 0", "above: x"),
                  ("quantity: slope", "quantity: slop"), ("margin: 2", "margin: 0")):  # fmt: skip
        text = CLAIMS.replace(*wrong)
        assert not validator.is_valid(yaml.safe_load(text)), wrong
        with pytest.raises(verdicts.UserError):
            verdicts.read_claims(write(tmp_path, text))
