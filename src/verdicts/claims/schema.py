"""The JSON Schema of claims files: ``schema.yaml``, with the names that claims may use."""

from __future__ import annotations

from pathlib import Path

from verdicts.claims.claims_file import KINDS, TAKEN
from verdicts.quantity_registry import QUANTITIES
from verdicts.yaml_files import read_mapping


def schema() -> dict[str, object]:
    """The schema; quantities that are registered at this time are known to it."""
    found = read_mapping(Path(__file__).with_suffix(".yaml"), "schema")
    sections = found["properties"]
    claim, gate = (sections[name]["additionalProperties"] for name in ("defaults", "gates"))
    claim["properties"]["kind"]["enum"] += KINDS
    claim["properties"]["quantity"]["enum"] += sorted(QUANTITIES)  # that of gates, too
    gate["properties"]["take"]["anyOf"][0]["enum"] += TAKEN
    return found
