"""YAML in which no key of a mapping is there twice."""

from __future__ import annotations

import yaml

MERGE = "tag:yaml.org,2002:merge"


class RepeatedKey(Exception):
    """A key that is there twice, with its lines."""


class UniqueKeys(yaml.SafeLoader):
    """The loader for configs: a second value would go unseen, so a repeated key is RepeatedKey.

    A key laid over those of a merge (``<<: *other``) is no repetition.
    """

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        """Before merges are resolved, as the file has it."""
        node = super().compose_mapping_node(anchor)
        first: dict[tuple[str, str], yaml.Node] = {}
        for key, _ in node.value:
            if key.tag == MERGE or not isinstance(key, yaml.ScalarNode):
                continue
            if first.setdefault((key.tag, key.value), key) is not key:
                lines = [each.start_mark.line + 1 for each in (key, first[key.tag, key.value])]
                raise RepeatedKey(
                    f"line {lines[0]}: {key.value!r} is there already, in line {lines[1]}"
                )
        return node
