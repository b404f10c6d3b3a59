import pytest
import yaml
from configs import config_of
from conftest import REPOSITORY
from jsonschema import Draft202012Validator

from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.schema import SCHEMA, as_yaml, config_schema
from ngo.training.spec import FIELDS

FILE = REPOSITORY / SCHEMA


def test_the_file_is_up_to_date():
    assert FILE.read_text() == as_yaml(), "run make schema"


def test_the_schema_has_the_fields_of_a_run():
    definitions = yaml.safe_load(FILE.read_text())["$defs"]
    for name in ("run", "case"):
        assert list(definitions[name]["properties"]) == list(FIELDS)
    assert definitions["run"]["properties"]["lr"]["exclusiveMinimum"] == 0
    assert definitions["run"]["properties"]["workers"]["type"] == "integer"


@pytest.mark.parametrize("tier", ["paper", "laptop", "demo"])
def test_the_shipped_configs_follow_the_written_schema(tier):
    schema = config_schema()
    Draft202012Validator.check_schema(schema)
    assert not list(Draft202012Validator(schema).iter_errors(config_of(tier)))


def test_the_schema_that_configs_are_checked_against_is_one():
    """It is not checked at each start, which would take most of the time of a plan."""
    Draft202012Validator.check_schema(config_schema(values=False))


def test_every_key_is_explained():
    text = (REPOSITORY / "config/README.md").read_text()
    schema = yaml.safe_load(FILE.read_text())
    sections = {"settings", "training", "partitions", "network", "artefacts", *MEASUREMENTS}
    for key in schema["properties"]:
        name = f"{key}.NAME" if key in sections else f"{key}.root" if key == "data" else key
        assert f"`{name}`" in text
    for name, field in FIELDS.items():
        assert f"`{name}`" in text
        for known in field.names or ():
            assert f"`{known}`" in text
