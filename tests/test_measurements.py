import math

import pytest
from click.testing import CliRunner

from ngo.cli import main
from ngo.fields import checked
from ngo.measurements import MEASURES, PRODUCTS, check_entry, check_size
from ngo.options import FieldType
from ngo.registry import UserError

VALUES = [(kind, name) for kind, values in MEASURES.items() for name in values]


def entry_of(kind):
    """A config's entry with all defaults."""
    return {
        name: list(value.default) if value.many else value.default
        for name, value in MEASURES[kind].items()
    }


@pytest.mark.parametrize("kind", MEASURES)
def test_the_defaults_are_allowed(kind):
    check_entry("entry", kind, entry_of(kind))
    for names in PRODUCTS.get(kind, ()):
        assert set(names) <= set(MEASURES[kind])


@pytest.mark.parametrize(("kind", "name"), VALUES)
def test_a_command_and_its_config_refuse_the_same_in_the_same_words(tmp_path, kind, name):
    value = MEASURES[kind][name]
    (option,) = (param for param in main.commands[kind].params if param.name == name)
    assert isinstance(option.type, FieldType)
    assert option.type.field is value.field
    assert option.multiple == value.many
    for wrong in ("nosuch",) if value.field.names else (value.field.kind(-1), math.nan, -math.inf):
        with pytest.raises(UserError) as told:
            checked(name, wrong, value.field)
        result = CliRunner().invoke(main, [kind, f"{option.opts[0]}={wrong}"])
        assert (result.exit_code, result.stderr) == (2, f"ngo: {told.value}\n")
        given = [wrong] if value.many else wrong
        with pytest.raises(UserError) as again:
            check_entry("entry", kind, {**entry_of(kind), name: given})
        key = f"entry.{name}[0]" if value.many else f"entry.{name}"
        assert str(again.value) == key + str(told.value).removeprefix(name)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("spectra", {"drws": 1}, "entry: 'drws' is unknown; .*Did you mean 'draws'"),
        ("spectra", {"topology": "ring"}, "entry.topology: 'ring' is not allowed; .* a list"),
        ("spectra", {"workers": []}, r"entry.workers: \[\] is not allowed; .* a list of 1 or more"),
        ("spectra", {"workers": [4, 4.0]}, r"entry.workers: \[4, 4.0\] repeats 4.0"),
        ("spectra", {"seed": [0]}, r"entry.seed: \[0\] is not a number"),
        ("spectra", {"u": None}, "entry.u: None is not a number"),
        ("consensus", {"gamma": "1e-3"}, "entry.gamma: '1e-3' is not a number.*write 0.001"),
        ("consensus", {"rounds": 10**400}, "entry.rounds: 1000.*… is too large"),
        ("consensus", {"workers": 2000, "rounds": 10**6}, "entry.rounds: workers × rounds is 2,00"),
    ],
)
def test_a_mistake_in_an_entry_is_named(kind, values, message):
    with pytest.raises(UserError, match=message):
        check_entry("entry", kind, {**entry_of(kind), **values})


def test_a_value_that_is_needed_is_missed():
    entry = entry_of("consensus")
    del entry["u"]
    check_entry("entry", "consensus", entry)
    del entry["gamma"]
    with pytest.raises(UserError, match="entry: 'gamma' is missing"):
        check_entry("entry", "consensus", entry)


def test_the_largest_of_several_counts():
    values = {**entry_of("theory"), "workers": (2, 200), "delay_rounds": 100_000}
    with pytest.raises(UserError, match="delay_rounds: workers × delay_rounds is 20,000,000"):
        check_size("theory", values)
