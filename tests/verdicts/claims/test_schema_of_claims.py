"""The JSON Schema of claims files."""

import json

import jsonschema
import pytest
import yaml
from foreign import CLAIMS, write

import verdicts
from verdicts.cli import main


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
