"""``ngo runs``, ``fields`` and ``schema``."""

import json
import re
from pathlib import Path

from command_line import ngo
from conftest import CONFIGS
from jsonschema import Draft202012Validator

from ngo.cli.pipeline_commands import overview
from ngo.common import plugins
from ngo.training.spec import FIELDS


def test_every_tier_is_found_and_a_file_that_is_none_is_told_in_its_line(tmp_path):
    """One of a user's own that is none, one that is wrong, one over another tier."""
    base = CONFIGS[0].read_text() + "only: [table1]\n"
    (tmp_path / "config.yaml").write_text(base)
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    (tmp_path / "fast.yaml").write_text("device: cpu\n")
    (tmp_path / "half.yaml").write_text("tier: [")
    (tmp_path / "mine.yaml").write_text("tier: mine\nonly: [tableS1]\n")
    lines = list(overview(tmp_path))
    assert not any("\n" in line for line in lines)
    others = {Path(line.split()[0]).name: line for line in lines if "not a tier on its own" in line}
    assert "config: 'services' is unknown" in others["compose.yaml"]
    assert f"tier: 'paper' is the name of {tmp_path}/config.yaml" in others["fast.yaml"]
    assert "is not valid YAML" in others["half.yaml"]
    found = [line for line in lines if line not in others.values()]
    assert [line.partition(":")[0] for line in found] == ["paper", "mine"]
    assert found[0].startswith("paper: 420 runs of 1 experiment on 60 partitions train 1,002,400,")


PLUGIN = """
import ngo

@ngo.coupling("limited", options={"limit": ngo.number("largest pull", 0.5, ngo.above(0, 9))})
def limited(z, weights, gamma, run):
    return z
"""


def listed(*arguments):
    """What is said of each field, by its name."""
    table = ngo("fields", *arguments).split("\n\n")[1]
    entries = re.split(r"\n(?=\S)", table)
    pairs = (" ".join(entry.split()).split(" ", 1) for entry in entries)
    return dict(pairs)


def test_every_field_is_listed_with_its_meaning_its_values_and_its_readers():
    found = listed()
    assert list(found) == list(FIELDS)
    assert found["beta"] == (
        "Dirichlet concentration: a number, above 0, at most 1,000,000. Default 0.5. Read with "
        "partition dirichlet, dirichlet_min, quantity."
    )
    assert found["kept_share"].endswith("Default 0.01. Read with compression random_k, top_k.")
    assert found["task"] == (
        "learning task: classification, next_character, regression, vae. Default classification."
    )


def test_options_of_plugins_are_listed_and_in_the_schema(own_entries, tmp_path):
    path = tmp_path / "limits.py"
    path.write_text(PLUGIN)
    assert listed("--plugin", path)["limit"] == (
        "largest pull: a number, above 0, at most 9. Default 0.5. Read with coupling limited."
    )
    schema = json.loads(ngo("schema", "--plugin", path))
    assert schema["$defs"]["run"]["properties"]["limit"]["maximum"] == 9
    assert plugins.loaded()


def test_the_schema_is_printed_or_written(tmp_path):
    text = ngo("schema")
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    assert "ring" in schema["$defs"]["run"]["properties"]["topology"]["enum"]
    assert ngo("schema", "--out", tmp_path / "config.schema.json") == ""
    assert (tmp_path / "config.schema.json").read_text() == text
