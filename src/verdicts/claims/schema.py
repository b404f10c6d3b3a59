"""The JSON Schema of claims files, from the rules by which they are read."""

from __future__ import annotations

from verdicts.claims.claims_file import KINDS, TAKEN
from verdicts.claims.for_each import ALL, FOR_EACH
from verdicts.quantity_registry import QUANTITIES
from verdicts.statistics.expectation import RELATIONS

VALUE = {"type": "string", "pattern": r"^\{[\w.]+\}$", "description": "a value of for_each"}
NUMBER = {"anyOf": [{"type": "number"}, VALUE]}
TEXT = {"type": "string"}
NAMES = {
    "description": "A name, or a list of names.",
    "oneOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}],
}
SELECTION = {
    "anyOf": [{"type": "object"}, VALUE],
    "description": "column: value; a list is any of its values, null a missing value, and "
    "{min: x, max: y} a range",
}
PRINTED = {
    "type": "object",
    "additionalProperties": False,
    "required": ["file", "column", "where"],
    "properties": {"file": TEXT, "column": TEXT, "where": {"type": "object"}},
    "description": "the number in the one row of a CSV file in the folder of the claims",
}
EXPECTATION = {
    "above": {**NUMBER, "description": "the mean is above this"},
    "below": {**NUMBER, "description": "the mean is below this"},
    "near": {**NUMBER, "description": "the mean is within the margin of this"},
    "paper": {
        "anyOf": [{"type": "number"}, VALUE, PRINTED],
        "description": "the same, of a value that was printed elsewhere",
    },
    "margin": {
        "anyOf": [{"type": "number", "exclusiveMinimum": 0}, VALUE],
        "description": "in the quantity's unit; a difference below it counts as none",
    },
}
FOR_EACH_VALUE = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": "array", "minItems": 1}, {"const": ALL}]},
    "description": "NAME: [values]: an entry for each, with {NAME} in its id and texts; "
    "NAME: all for all in the section values",
}


def schema() -> dict[str, object]:
    """The schema; quantities that are registered at this time are known to it."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A claims file",
        "type": "object",
        "additionalProperties": False,
        "required": ["claims"],
        "properties": {
            "values": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "additionalProperties": {"type": "object"},
                },
                "description": "NAME: the mappings that values of for_each stand for, by value",
            },
            "defaults": {
                "type": "object",
                "additionalProperties": _claim(required=()),
                "description": "what claims that name these defaults do not give themselves",
            },
            "gates": {"type": "object", "additionalProperties": _gate()},
            "claims": {
                "type": "object",
                "propertyNames": {"pattern": "^[A-Za-z0-9{][A-Za-z0-9_.{}-]*$"},
                "additionalProperties": {
                    "if": {"required": ["defaults"]},
                    "then": _claim(required=()),
                    "else": _claim(),
                },
            },
        },
    }


def _claim(
    required: tuple[str, ...] = ("place", "says", "kind", "from", "quantity"),
) -> dict[str, object]:
    cell = {
        "type": "object",
        "description": "further conditions, and maybe an expectation of its own",
    }
    return _entry(
        required,
        {
            "place": {**TEXT, "description": "where the claim is made"},
            "says": {**TEXT, "description": "the claim in a sentence"},
            "kind": {"enum": list(KINDS)},
            "from": {**NAMES, "description": "the table, or tables, whose rows decide it"},
            "where": SELECTION,
            "quantity": _quantity(),
            "with": {"type": "object", "description": "the quantity's arguments"},
            **{name: EXPECTATION[name] for name in (*RELATIONS, "margin")},
            "unit": {**TEXT, "description": "of the quantity, for print"},
            "family": {**TEXT, "description": "p values are adjusted within a family"},
            "gate": {**NAMES, "description": "conditions that the runs must meet"},
            "shows": {**TEXT, "description": "the table or figure that shows it"},
            "cells": {
                "type": "object",
                "additionalProperties": cell,
                "description": "parts of the rows with verdicts of their own",
            },
            FOR_EACH: FOR_EACH_VALUE,
            "defaults": {**TEXT, "description": "the defaults of the claim"},
            "every_cell": {
                "type": "boolean",
                "description": "the claim holds if each cell does, and fails if one does",
            },
        },
    )


def _gate() -> dict[str, object]:
    return _entry(
        ("take", "else"),
        {
            FOR_EACH: FOR_EACH_VALUE,
            "from": {**NAMES, "description": "by default, the rows of the claim"},
            "where": SELECTION,
            "column": {**TEXT, "description": "a column at the end of each run"},
            "quantity": _quantity(),
            "with": {"type": "object", "description": "the quantity's arguments"},
            "take": {
                "anyOf": [{"enum": list(TAKEN)}, VALUE],
                "description": "how the values are condensed",
            },
            "above": NUMBER,
            "below": NUMBER,
            "else": {**TEXT, "description": "the reason, if the runs do not pass"},
        },
    )


def _entry(required: tuple[str, ...], properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def _quantity() -> dict[str, object]:
    return {"enum": sorted(QUANTITIES), "description": "see `verdicts quantities`"}
