from dataclasses import dataclass

import jsonschema
import pytest

from ngo.common.fields import above, at_least, within
from ngo.common.registry import Registry, UserError
from ngo.measures.measurement import MEASUREMENTS, Measurement
from ngo.measures.section import check_entry, entry_schema, settings_from
from ngo.measures.settings import limit_product, setting, settings_of

SHAPES = Registry("shape")
SHAPES.update(round=1, square=2)


@dataclass(frozen=True)
class Settings:
    shape: str = setting("shape of a thing", "round", names=SHAPES)
    size: tuple[int, ...] = setting("sizes", (1, 2), **within(1, 1000))
    rate: float = setting("rate", 0.5, **above(0, 1))
    rounds: int = setting("rounds", 3, **at_least(0), required=False)

    def __post_init__(self) -> None:
        limit_product(self, "size", "rounds")


SHAPES_MEASUREMENT = Measurement("shapes", Settings, print, False, (), False, print)
ENTRY = {"shape": "square", "size": [3, 4], "rate": 1}


def entry_of(kind):
    """A config's entry with all defaults."""
    found = {
        name: list(each.default) if each.many else each.default
        for name, each in settings_of(MEASUREMENTS[kind].settings).items()
    }
    return {"setting": "mnist_iid", **found} if MEASUREMENTS[kind].run_fields else found


def test_an_entry_becomes_settings_of_the_right_types():
    found = settings_from(Settings, ENTRY, "entry")
    assert found == Settings("square", (3, 4), 1.0, 3)
    assert isinstance(found.rate, float)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sze": 1}, "^entry: 'sze' is unknown; .*Did you mean 'size'"),
        ({"shape": "rond"}, "^entry.shape: 'rond' is unknown; .*Did you mean 'round'"),
        ({"size": 3}, "^entry.size: 3 is not allowed; .* a list"),
        ({"size": []}, r"^entry.size: \[\] is not allowed; .* a list of one or more values"),
        ({"size": [4, 4.0]}, r"^entry.size: \[4, 4.0\] repeats 4.0"),
        ({"size": [1, 0]}, r"^entry.size\[1\]: 0 is out of range; .* a whole number, 1 to 1,000"),
        ({"rate": [0]}, r"^entry.rate: \[0\] is not a number"),
        ({"rate": None}, "^entry.rate: None is not a number"),
        ({"rate": "1e-3"}, "^entry.rate: '1e-3' is not a number.*write 0.001"),
        ({"rounds": 10**400}, "^entry.rounds: 1000.*… is too large"),
        ({"rounds": 10**7}, "^entry.rounds: size × rounds is 40,000,000; it must be 10,000,000"),
    ],
)
def test_a_mistake_in_an_entry_is_named(values, message):
    with pytest.raises(UserError, match=message):
        settings_from(Settings, {**ENTRY, **values}, "entry")


def test_a_required_setting_must_be_stated():
    with pytest.raises(UserError, match="^entry: 'rate' is missing"):
        settings_from(Settings, {"shape": "round", "size": [1]}, "entry")


def test_the_schema_allows_what_the_check_allows():
    schema = entry_schema(SHAPES_MEASUREMENT)
    jsonschema.Draft202012Validator.check_schema(schema)
    valid = jsonschema.Draft202012Validator(schema).is_valid
    assert valid(ENTRY)
    assert valid({**ENTRY, "rounds": 0})
    assert not valid({**ENTRY, "sze": 1})
    assert not valid({"shape": "round", "size": [1]})
    for name, wrong in [
        ("shape", 1), ("size", 3), ("size", []), ("size", [4, 4]), ("size", [0]), ("size", [1001]),
        ("rate", 0), ("rate", 1.1), ("rounds", -1), ("rounds", 0.5),
    ]:  # fmt: skip
        assert not valid({**ENTRY, name: wrong}), (name, wrong)
    assert schema["properties"]["rate"]["description"] == "a number, above 0, at most 1"


@pytest.mark.parametrize("kind", sorted(MEASUREMENTS))
def test_the_defaults_are_allowed_by_the_check_and_the_schema(kind):
    entry = entry_of(kind)
    check_entry("entry", MEASUREMENTS[kind], entry)
    schema = entry_schema(MEASUREMENTS[kind])
    jsonschema.validate(entry, schema, jsonschema.Draft202012Validator)


def test_a_setting_of_runs_must_be_named_where_run_fields_are_needed():
    entry = entry_of("throughput")
    del entry["setting"]
    with pytest.raises(UserError, match=r"^throughput.a: 'setting' is missing\."):
        check_entry("throughput.a", MEASUREMENTS["throughput"], entry)
    entry = {**entry_of("spectra"), "setting": "b"}
    with pytest.raises(UserError, match="^spectra.a: 'setting' is unknown"):
        check_entry("spectra.a", MEASUREMENTS["spectra"], entry)
