import json

import pytest

from ngo.pipeline.archives.limits import DEPTH
from ngo.pipeline.archives.strict_json import parsed


def test_json_is_read_as_usual():
    value = {"a": [1, -2.5, None, True, "ü", {"b": []}], "c": "x" * 1000}
    assert parsed(json.dumps(value)) == value
    assert parsed(json.dumps(value).encode()) == value
    assert parsed("[" * DEPTH + "]" * DEPTH)


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "[Infinity]", "1e999", "9" * 41, str(2**63), str(10**23),
     "[" * (DEPTH + 1) + "]" * (DEPTH + 1),
     "[" * 100_000, '{"a":' * 100_000, '"\\ud800"', b"\xff\xff\xff"],
)  # fmt: skip
def test_every_fault_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"\w"):
        parsed(text)
