"""Reading YAML files; repeated keys are rejected."""

from __future__ import annotations

from pathlib import Path

import yaml

from ngo.common.registry import UserError

MERGE = "tag:yaml.org,2002:merge"


class RepeatedKey(Exception):
    """A mapping has the same key twice; the message has the lines."""


class UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """The loader of configs. Raises RepeatedKey, where PyYAML would use the last value.

    A key may override one from a merge (``<<: *other``).
    """

    def construct_document(self, node: yaml.Node) -> object:
        """Check the keys as they are in the file, before merges are resolved."""
        waiting, seen = [node], set()
        while waiting:
            each = waiting.pop()
            if id(each) in seen:  # an alias
                continue
            seen.add(id(each))
            if isinstance(each, yaml.MappingNode):
                _check_keys(each)
                waiting += [value for _, value in each.value]
            elif isinstance(each, yaml.SequenceNode):
                waiting += each.value
        return super().construct_document(node)


def _check_keys(node: yaml.MappingNode) -> None:
    first: dict[tuple[str, str], yaml.Node] = {}
    for key, _ in node.value:
        if key.tag == MERGE or not isinstance(key, yaml.ScalarNode):
            continue
        if first.setdefault((key.tag, key.value), key) is not key:
            lines = [each.start_mark.line + 1 for each in (key, first[key.tag, key.value])]
            raise RepeatedKey(
                f"line {lines[0]}: {key.value!r} is already defined in line {lines[1]}"
            )


def read_mapping(path: str | Path, key: str) -> dict:
    """The mapping in a YAML file; a UserError, under ``key``, for a file without one."""
    try:
        values = yaml.load(Path(path).read_text(encoding="utf-8"), UniqueKeys)
    except OSError as error:
        raise UserError(f"{key}: {str(path)!r} can't be read: {error.strerror}") from None
    except RepeatedKey as error:
        raise UserError(f"{key}: {str(path)!r}, {error}.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise UserError(f"{key}: {str(path)!r} is not valid YAML: {problem}") from None
    if not isinstance(values, dict):
        raise UserError(f"{key}: {str(path)!r} must be a mapping of keys to values")
    return values
