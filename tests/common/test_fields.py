import math
from pathlib import Path

import pytest

from ngo.common.fields import Field, above, as_number, at_least, below, checked, wanted, within
from ngo.common.registry import Registry, UserError

NAMES = Registry("topology")
NAMES.add("ring", 1)
NAMES.add("complete", 2)

WORKERS = Field(int, "number of workers", **within(1, 2000))
RATE = Field(float, "learning rate", **above(0, 10))
TOPOLOGY = Field(str, "topology", names=NAMES)


@pytest.mark.parametrize(
    ("limits", "inside", "outside", "words"),
    [
        (within(1, 2000), [1, 2000], [0, 2001], "1 to 2,000"),
        (at_least(0.5), [0.5, 1e9], [0.4], "0.5 or more"),
        (above(0), [1e-9, 1e9], [0], "above 0"),
        (above(0, 2), [1e-9, 2], [0, 3], "above 0, at most 2"),
        (below(0, 1), [0, 0.99], [-1, 1], "0 or more, below 1"),
    ],
)
def test_ranges(limits, inside, outside, words):
    assert all(map(limits["allowed"], inside))
    assert not any(map(limits["allowed"], outside))
    assert limits["range"] == words


def test_a_file_must_be_there(tmp_path):
    field = Field(Path, "a graph")
    (tmp_path / "graph.gml").touch()
    path = str(tmp_path / "graph.gml")
    assert checked("graph", path, field) == path
    assert (field.schema, wanted(field)) == ({"title": "a graph", "type": "string"}, "a file")
    with pytest.raises(UserError, match="graph: 'none.gml' can't be read: No such file"):
        checked("graph", "none.gml", field)
    with pytest.raises(UserError, match="graph: 3 is not a path; it must be a file"):
        checked("graph", 3, field)


def test_a_value_is_returned_in_the_fields_type():
    workers = checked("workers", 8.0, WORKERS)
    assert (workers, type(workers)) == (8, int)
    rate = checked("lr", 1, RATE)
    assert (rate, type(rate)) == (1.0, float)
    assert checked("topology", "ring", TOPOLOGY) == "ring"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (WORKERS, "ten", "'ten' is not a number; it must be a whole number, 1 to 2,000."),
        (WORKERS, True, "True is not a number; it must be a whole number, 1 to 2,000."),
        (WORKERS, 2.5, "2.5 is not whole; it must be a whole number, 1 to 2,000."),
        (WORKERS, 0, "0 is out of range; it must be a whole number, 1 to 2,000."),
        (
            WORKERS,
            2**63,
            "9223372036854775808 is too large; it must be a whole number, 1 to 2,000, and "
            "below 2^63.",
        ),
        (RATE, math.nan, "nan is not finite; it must be a number, above 0, at most 10."),
        (
            RATE,
            "1e-3",
            "'1e-3' is not a number; it must be a number, above 0, at most 10. "
            "It was read as text: write 0.001.",
        ),
        (TOPOLOGY, "rign", "'rign' is unknown; allowed: complete, ring. Did you mean 'ring'?"),
        (TOPOLOGY, ["ring"], "['ring'] is unknown; allowed: complete, ring."),
    ],
)
def test_mistakes_are_one_line(field, value, message):
    with pytest.raises(UserError) as error:
        checked("key", value, field)
    assert str(error.value).startswith(f"key: {message}")


def test_allowed_values_in_words():
    assert wanted(WORKERS) == "a whole number, 1 to 2,000"
    assert wanted(TOPOLOGY) == "one of complete, ring"


def test_numbers_that_were_read_as_text():
    assert as_number("1e-3") == " It was read as text: write 0.001."
    assert as_number("nan") == as_number("x") == as_number(1) == ""
