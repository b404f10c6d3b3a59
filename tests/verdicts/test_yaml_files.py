import errno
import os
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from cases import cases, refused

from verdicts.files import Unfit, UniqueKeys, read_mapping, regular_file, write_together
from verdicts.registry import UserError

LISTS = "[x, x, x, x, x, x, x, x, x, x]", "[" + ", ".join(["*{0}"] * 10) + "]"
MAPPINGS = "{x: 1}", "{{" + ", ".join(f"k{i}: *{{0}}" for i in range(10)) + "}}"
MERGED = "{x: 1}", "{{<<: [" + ", ".join(["*{0}"] * 10) + "]}}"


def test_a_repeated_key_is_named_with_its_lines_but_a_merged_one_may_be_overridden():
    with pytest.raises(Unfit, match="line 3: 'a' is already defined in line 1"):
        yaml.load("a: 1\nb: 2\na: 3\n", UniqueKeys)
    with pytest.raises(Unfit, match="line 3: 'x' is already defined in line 2"):
        yaml.load("a:\n  x: 1\n  x: 1\n", UniqueKeys)
    text = "base: &base {x: 1, y: 2}\nmine:\n  <<: *base\n  x: 3\n"
    assert yaml.load(text, UniqueKeys)["mine"] == {"x": 3, "y": 2}


@pytest.mark.timeout(60)
@cases(
    "content, message",
    (b"a: !!python/object/apply:os.system ['touch ran']", "could not determine a constructor"),
    (b"a: !!python/name:os.system", "could not determine a constructor"),
    (None, "^own: 'a.yaml' does not exist"),
    (b"[1]", "^own: 'a.yaml' must be a mapping of keys to values$"),
    (b"a: [", "^own: 'a.yaml' is not valid YAML: "),
    (b"a: 1\nb: { off: 1 }", "^own: 'a.yaml', line 2: YAML reads the .* quote it: 'off'.$"),
    (b"a: b\0c", "control characters are not allowed"),
    (b"a: \xff", "can't decode byte 0xff"),
    (b"a: !!timestamp x", "is not valid YAML"),
    (b"a: &a [*a]", "more than 1,000,000 values"),
    (b"? [1]\n: 2", "unhashable key"),
    (b"a: 2020-99-99", "month must be in 1..12"),
    (b"a: " + b"[" * 100_000, "is nested more than 50 levels deep in line 1"),
    (b"{a: " * 20_000 + b"1" + b"}" * 20_000, "is nested more than 50 levels deep"),
    (b"b: 1\na: 1" + b":59" * 100_000, "value of more than 20,000 characters in line 2"),
    (b"a: b\n" * 10**6, "has 5,000,000 bytes; at most 4,194,304"),
)
def test_a_strangers_file_is_refused_in_a_line(tmp_path, monkeypatch, content, message):
    """PyYAML's own parser ends the process for deep nesting: the limits come first."""
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("a.yaml").write_bytes(content)
    refused(message, read_mapping, Path("a.yaml"), "own")
    assert not (tmp_path / "ran").exists()


def nested(depth: int, first: str, more: str) -> str:
    """Ten aliases of the value before in each of ``depth`` lines."""
    names = "abcdefghijkl"[: depth + 1]
    lines = [f"{new}: &{new} {more.format(old)}" for old, new in pairwise(names)]
    return "\n".join([f"a: &a {first}", *lines])


@pytest.mark.parametrize(("first", "more"), [LISTS, MAPPINGS, MERGED])
def test_aliases_for_too_many_values_are_refused_before_they_are_written(tmp_path, first, more):
    (tmp_path / "a.yaml").write_text(nested(3, first, more))
    assert set(read_mapping(tmp_path / "a.yaml", "own")) == set("abcd")
    (tmp_path / "a.yaml").write_text(nested(11, first, more))
    with pytest.raises(UserError, match="1,000,000 values with its aliases written out.$"):
        read_mapping(tmp_path / "a.yaml", "own")


def test_a_file_that_is_absent_large_or_no_file_is_not_opened(tmp_path):
    for name in ("", "absent", "a" * 5000, "nul\0"):
        with pytest.raises(UserError, match=r"^key: '.*' (can't be read: |does not exist)"):
            regular_file(tmp_path / name, "key", 10)
    (tmp_path / "file").write_text("x" * 11)
    assert regular_file(tmp_path / "file", "key", 11) == tmp_path / "file"
    refused("has 11 bytes; at most 10", regular_file, tmp_path / "file", "key", 10)


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    contents = {"a.txt": "one", "b.txt": "two"}
    write_together(tmp_path / "out", contents, [])
    write = Path.write_bytes

    def full(path, content):
        if path.name == "b.txt":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match=r"^out: '.*out': No space left on device\.$"):
        write_together(tmp_path / "out", {"a.txt": "new", "b.txt": "new"}, [])
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == contents
