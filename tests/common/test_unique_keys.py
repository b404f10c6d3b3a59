import pytest
import yaml

from ngo.common.registry import UserError
from ngo.common.unique_keys import RepeatedKey, UniqueKeys, read_mapping


def test_a_repeated_key_is_named_with_its_lines():
    with pytest.raises(RepeatedKey, match="line 3: 'a' is already defined in line 1"):
        yaml.load("a: 1\nb: 2\na: 3\n", UniqueKeys)
    with pytest.raises(RepeatedKey, match="line 3: 'x' is already defined in line 2"):
        yaml.load("a:\n  x: 1\n  x: 1\n", UniqueKeys)


def test_a_key_may_override_a_merged_one():
    text = "base: &base {x: 1, y: 2}\nmine:\n  <<: *base\n  x: 3\n"
    assert yaml.load(text, UniqueKeys)["mine"] == {"x": 3, "y": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "^own: '.*a.yaml' must be a mapping of keys to values$"),
        ("a: [", "^own: '.*a.yaml' is not valid YAML: "),
        ("a: 1\na: 2", "^own: '.*a.yaml', line 2: 'a' is already defined in line 1"),
        (None, "^own: '.*a.yaml' can't be read: No such file"),
    ],
)
def test_a_file_without_a_mapping(tmp_path, text, message):
    if text is not None:
        (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(UserError, match=message):
        read_mapping(tmp_path / "a.yaml", "own")


def test_the_mapping_of_a_file(tmp_path):
    (tmp_path / "a.yaml").write_text("a: {b: 1}")
    assert read_mapping(tmp_path / "a.yaml", "own") == {"a": {"b": 1}}
