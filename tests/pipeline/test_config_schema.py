import pytest
import yaml
from configs import changed, config_of, plan_of
from conftest import REPOSITORY
from jsonschema import Draft202012Validator

from ngo.common.fields import above, number
from ngo.common.registry import UserError
from ngo.gossip.coupling import coupling
from ngo.pipeline.config import GONE, without_gone
from ngo.pipeline.config_schema import config_schema, overlay_schema
from ngo.training.spec import FIELDS


@pytest.mark.parametrize("tier", ["paper", "laptop", "demo"])
def test_the_shipped_configs_follow_the_schema(tier):
    schema = config_schema(values=True)
    Draft202012Validator.check_schema(schema)
    assert not list(Draft202012Validator(schema).iter_errors(config_of(tier)))


def test_an_overlay_follows_the_schema_for_editors():
    schema = overlay_schema()
    Draft202012Validator.check_schema(schema)
    is_valid = Draft202012Validator(schema).is_valid
    for path in sorted((REPOSITORY / "config").glob("*.yaml")):
        assert is_valid(yaml.safe_load(path.read_text())), path
    assert is_valid({"tier": "mine", "training": {"fig7": None}})
    assert not is_valid({"teir": "mine"})
    assert not is_valid({"defaults": {"topology": "rign"}})
    assert not is_valid({"defaults": {"lr": 0}})


def test_the_schema_has_the_fields_of_a_run_and_the_entries_of_plugins(own_entries):
    coupling("limited", options={"limit": number("largest pull", 1.0, above(0))})(print)
    definitions = config_schema(values=True)["$defs"]
    for name in ("run", "case"):
        assert list(definitions[name]["properties"]) == list(FIELDS)
    run = definitions["run"]["properties"]
    assert run["workers"]["type"] == "integer"
    assert run["limit"]["exclusiveMinimum"] == 0
    assert "limited" in run["coupling"]["enum"]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("seeds", 0, "seeds: 0 is not allowed; it must be a list of seeds, or their number."),
        ("seeds", [True], "seeds[0]: True is not allowed; it must be a whole number, 0 or more."),
        ("tier", "x\n", "tier: 'x\\n' is not allowed; it must be a name of a-z, 0-9, _ and -."),
        ("defaults", [], "defaults: [] is not allowed; it must be a mapping of keys to values."),
        (
            "training.fig2.snapshots",
            ["last"],
            "training.fig2.snapshots[0]: 'last' is not allowed; it must be a whole number, 0 or "
            "more, or 'final'.",
        ),
        ("training", {"a b": {}},
         "training: the name 'a b' is not allowed; it must be of letters, digits and _."),
        ("device", "DELETE",
         "config: 'device' is missing. An overlay goes after its base, config/config.yaml."),
        (
            "artefacts.fig3.consensus_share",
            2,
            "artefacts.fig3.consensus_share: 2 is not allowed; it must be a number above 0 and at "
            "most 1.",
        ),
        ("device", "gpu", "device: 'gpu' is unknown; allowed: auto, cpu, cuda. Did you mean "
         "'cuda'?"),
    ],
)  # fmt: skip
def test_what_the_schema_wants_is_told_in_plain_words(path, value, words):
    with pytest.raises(UserError) as error:
        plan_of(changed(path, value))
    assert str(error.value) == words


PLACES = (
    *("tier", "seeds", "data.root", "defaults", "defaults.lr", "defaults.topology", "training"),
    *("training.fig2.compare", "training.fig2.settings", "consensus.fig3.p", "theory.theory.p"),
)


@pytest.mark.parametrize("value", [None, {1: 2}, pytest.param(10**400, id="huge")])
def test_whatever_stands_in_a_config_is_told_in_a_line(value):
    for place in PLACES:
        with pytest.raises(UserError) as error:
            plan_of(changed(place, value))
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 2000  # the names of all fields, and a value cut short


@pytest.mark.parametrize("key", GONE)
def test_a_key_of_an_earlier_release_is_told_in_a_line_and_works(key, caplog):
    config = config_of()
    assert plan_of({**config, key: 3}).training == plan_of(config).training
    assert caplog.messages == [f"note: config: {key} is no key any more: {GONE[key]}"]
    assert without_gone({**config, **dict.fromkeys(GONE)}) == config
