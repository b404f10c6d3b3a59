"""A YAML loader that rejects repeated keys."""

from __future__ import annotations

import yaml

MERGE = "tag:yaml.org,2002:merge"


class RepeatedKey(Exception):
    """A mapping has the same key twice; the message has the lines."""


class UniqueKeys(yaml.SafeLoader):
    """The loader of configs. Raises RepeatedKey, where PyYAML would use the last value.

    A key may override one from a merge (``<<: *other``).
    """

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        """Check the keys as they are in the file, before merges are resolved."""
        node = super().compose_mapping_node(anchor)
        first: dict[tuple[str, str], yaml.Node] = {}
        for key, _ in node.value:
            if key.tag == MERGE or not isinstance(key, yaml.ScalarNode):
                continue
            if first.setdefault((key.tag, key.value), key) is not key:
                lines = [each.start_mark.line + 1 for each in (key, first[key.tag, key.value])]
                raise RepeatedKey(
                    f"line {lines[0]}: {key.value!r} is already defined in line {lines[1]}"
                )
        return node
