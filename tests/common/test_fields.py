import math
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from cases import cases, mistake_of, refused
from conftest import REPOSITORY

from ngo.common import fields
from ngo.common.fields import usual
from ngo.common.registries import METHODS
from ngo.training.spec import FIELDS
from verdicts.registry import Registry, UserError

NAMES = Registry("topology")
NAMES.add("ring", 1)
NAMES.add("complete", 2)

WORKERS = fields.Field(int, "number of workers", fields.within(1, 2000))
RATE = fields.Field(float, "learning rate", fields.above(0, 10))
TOPOLOGY = fields.Field(str, "topology", names=NAMES)
ENTRY = {"shape": "complete", "size": [3, 4], "rate": 1}


@dataclass(frozen=True)
class Things:
    shape: str = fields.choice("shape of a thing", "ring", NAMES)
    size: tuple[int, ...] = fields.whole("sizes", (1, 2), fields.within(1, 1000))
    rate: float = fields.number("rate", 0.5, fields.above(0, 1))
    rounds: int = fields.whole("rounds", 3, fields.at_least(0), optional=True)
    color: str = "red"

    def __post_init__(self) -> None:
        if self.rounds == 13:
            raise UserError("rounds: 13 is bad luck.")


@cases(
    "limits, inside, outside, words",
    (fields.within(1, 2000), [1, 2000], [0, 2001], "1 to 2,000"),
    (fields.at_least(0.5), [0.5, 1e9], [0.4], "0.5 or more"),
    (fields.above(0), [1e-9, 1e9], [0], "above 0"),
    (fields.above(0, 2), [1e-9, 2], [0, 3], "above 0, at most 2"),
    (fields.below(0, 1), [0, 0.99], [-1, 1], "0 or more, below 1"),
)
def test_ranges(limits, inside, outside, words):
    assert all(value in limits for value in inside)
    assert not any(value in limits for value in outside)
    assert str(limits) == words


def test_a_file_must_be_there(tmp_path):
    field = fields.Field(Path, "a graph")
    (tmp_path / "graph.gml").touch()
    path = str(tmp_path / "graph.gml")
    assert fields.checked("graph", path, field) == path
    assert fields.wanted(field) == "a file"
    refused("graph: 'none.gml' does not exist", fields.checked, "graph", "none.gml", field)
    refused("graph: 3 is not a path; it must be a file", fields.checked, "graph", 3, field)


@cases(
    "field, value, message",
    (WORKERS, "ten", "'ten' is not a number; it must be a whole number, 1 to 2,000."),
    (WORKERS, 2.5, "2.5 is not whole; it must be a whole number, 1 to 2,000."),
    (WORKERS, 0, "0 is out of range; it must be a whole number, 1 to 2,000."),
    (WORKERS, 2**63, "9223372036854775808 is too large (2^63 or more); it must be a whole num"),
    (RATE, math.nan, "nan is not finite; it must be a number, above 0, at most 10."),
    (RATE, "1e-3", "'1e-3' is not a number; it must be a number, above 0, at most 10. It wa"),
    (TOPOLOGY, "rign", "'rign' is unknown; allowed: complete, ring. Did you mean 'ring'?"),
)
def test_mistakes_are_one_line(field, value, message):
    assert mistake_of(fields.checked, "key", value, field).startswith(f"key: {message}")


@cases(
    "text, written",
    ("1e-3", "0.001"),
    ("1e-5", "1.0e-05"),  # YAML reads 1e-05 as text
    ("3", "3"),
    ("01", "1"),
    ("1e3", "1000"),
    ("9007199254740993", "9007199254740993"),  # no float is this number
    ("0.5", "0.5"),
)
def test_numbers_that_were_read_as_text(text, written):
    assert fields.as_number(text, lambda value: True) == f" It was read as text: write {written}."
    assert yaml.safe_load(written) == pytest.approx(float(text), rel=1e-15)


def test_a_mapping_becomes_values_of_the_right_types():
    found = fields.from_mapping(Things, ENTRY, "entry")
    assert found == Things("complete", (3, 4), 1.0, 3)
    assert isinstance(found.rate, float)


@cases(
    "values, message",
    ({"sze": 1}, "^entry: 'sze' is unknown; .*Did you mean 'size'"),
    ({"shape": "rign"}, "^entry.shape: 'rign' is unknown; .*Did you mean 'ring'"),
    ({"size": []}, r"^entry.size: \[\] is not allowed; .* a list of one or more values"),
    ({"size": [4, 4.0]}, r"^entry.size: \[4, 4.0\] repeats 4.0"),
    ({"size": [1, 0]}, r"^entry.size\[1\]: 0 is out of range; .* a whole number, 1 to 1,000"),
    ({"rate": None}, "^entry.rate: None is not a number"),
    ({"rounds": 10**400}, "^entry.rounds: 1000.*… is too large"),
    ({"rounds": 13}, "^entry.rounds: 13 is bad luck"),
)
def test_a_mistake_in_a_mapping_is_named(values, message):
    refused(message, fields.from_mapping, Things, {**ENTRY, **values}, "entry")


def test_words_of_other_frameworks_are_told_what_they_are_here():
    assert usual("num_clients", FIELDS) == ["workers"]
    assert usual("dirichlet_alpha", FIELDS) == ["beta"]
    for word, part in (
        ("rounds", "Here it is epochs;"),
        ("fraction-fit", "Here it is participants"),
    ):
        assert part in fields.meant(word, FIELDS)
    for name in ("FedAvg", "fedprox", "SCAFFOLD", "sgp"):
        line = mistake_of(fields.checked, "method", name, FIELDS["method"])
        assert line.endswith("(docs/how_to/from_other_frameworks.md).")
        assert "Did you mean" not in line
    page = (REPOSITORY / "docs/how_to/from_other_frameworks.md").read_text("utf-8").lower()
    for told in {*fields.words("elsewhere").values()}:
        alike = [word for word, same in fields.words("elsewhere").items() if same == told]
        assert any(word.replace("_", by) in page for word in alike for by in "_- ")
        named = re.findall(r"\w+", told)
        assert any(name in METHODS or name in FIELDS for name in named), told
    taken = {*FIELDS, *METHODS}  # an entry of that name would hide the sentence
    assert not taken & {*fields.words("elsewhere")}


def test_usual_words_are_known():
    assert usual("step_size", FIELDS) == ["lr", "gamma"]
    assert usual("num_workers", FIELDS) == ["workers"]
    assert fields.meant("criterion", ["partition", "loss"]) == " Did you mean 'loss'?"
    assert usual("learning_rate", ["u"]) == usual("momentun", FIELDS) == []
