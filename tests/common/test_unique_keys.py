import pytest
import yaml

from ngo.common.unique_keys import RepeatedKey, UniqueKeys


def test_a_repeated_key_is_named_with_its_lines():
    with pytest.raises(RepeatedKey, match="line 3: 'a' is already defined in line 1"):
        yaml.load("a: 1\nb: 2\na: 3\n", UniqueKeys)
    with pytest.raises(RepeatedKey, match="line 3: 'x' is already defined in line 2"):
        yaml.load("a:\n  x: 1\n  x: 1\n", UniqueKeys)


def test_a_key_may_override_a_merged_one():
    text = "base: &base {x: 1, y: 2}\nmine:\n  <<: *base\n  x: 3\n"
    assert yaml.load(text, UniqueKeys)["mine"] == {"x": 3, "y": 2}
