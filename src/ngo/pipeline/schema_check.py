"""Checking a config against the schema; a mistake is explained in one line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from jsonschema import Draft202012Validator, SchemaError, ValidationError, validators

from ngo.common.fields import LARGEST, as_number
from ngo.common.registry import UserError, nearest, shown
from ngo.pipeline.config_files import read_config
from ngo.pipeline.schema import config_schema

# Levels of a config; the package's own have 5.
DEEPEST = 20


def check_schema(config: Mapping, path: str | Path | None = None) -> None:
    """Raise a UserError for the first value in the config that the schema does not allow.

    The schema is the package's own, or the one in the file at ``path``.
    """
    check_size(config)
    schema = config_schema(values=False) if path is None else read_config([path], "schema")
    try:
        if path is not None:
            _Validator.check_schema(schema)
    except SchemaError as error:
        raise UserError(f"schema: {str(path)!r} is not a JSON Schema: {error.message}.") from None
    errors = sorted(_Validator(schema).iter_errors(config), key=lambda e: e.json_path)
    if errors:
        raise UserError(_in_one_line(errors[0]))


def check_size(config: Mapping) -> None:
    """Raise a UserError for a whole number or a depth that no check and no message could handle.

    A number of thousands of digits can't be printed, and a list may hold itself, by an alias.
    """
    waiting: list[tuple[str, int, object]] = [("", 0, config)]
    while waiting:
        key, depth, value = waiting.pop()
        if depth > DEEPEST:
            raise UserError(
                f"{key}: it is nested more than {DEEPEST} levels deep, or holds itself."
            )
        if isinstance(value, Mapping):
            for name, each in value.items():
                own = name if isinstance(name, str) else shown(name)
                waiting += [(f"{key}.{own}".lstrip("."), depth + 1, each), (key, depth + 1, name)]
        elif isinstance(value, list):
            waiting += [(f"{key}[{k}]", depth + 1, each) for k, each in enumerate(value)]
        elif isinstance(value, int) and abs(value) > LARGEST:
            raise UserError(
                f"{key or 'config'}: {shown(value)} is too large; whole numbers are below 2^63."
            )


# By default, 2.0 is a whole number, and NaN is a number within all bounds.
_Validator = validators.extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: type(value) is int,
            "number": lambda _, value: (
                type(value) is int or (type(value) is float and math.isfinite(value))
            ),
        }
    ),
)


def _in_one_line(error: ValidationError) -> str:
    key = error.json_path.removeprefix("$").removeprefix(".") or "config"
    value = error.instance
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        name = next(name for name in value if name not in known)
        return (
            f"{key}: {shown(name)} is unknown; allowed: {', '.join(known)}.{nearest(name, known)}"
        )
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in value)
        return f"{key}: {missing!r} is missing."
    if error.validator == "uniqueItems":
        return f"{key}: {shown(value)} repeats a value; name each one once."
    what = "the name " if "propertyNames" in error.schema_path else ""
    hint = as_number(value) if error.validator == "type" else ""
    return f"{key}: {what}{shown(value)} is not allowed; it must be {_wanted(error.schema)}.{hint}"


_TYPES = {
    "object": "a mapping of keys to values",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}

_BOUNDS = {
    "minimum": "{} or more",
    "exclusiveMinimum": "above {}",
    "maximum": "{} or less",
    "exclusiveMaximum": "below {}",
    "minItems": "of {} or more",
    "maxItems": "of {} or less",
}


def _wanted(schema: Mapping) -> str:
    """What a part of the schema allows, in words: its description, if it has one."""
    if "anyOf" in schema:
        return ", or ".join(map(_wanted, schema["anyOf"]))
    if "const" in schema:
        return repr(schema["const"])
    bounds = [words.format(schema[name]) for name, words in _BOUNDS.items() if name in schema]
    return schema.get("description") or ", ".join([_TYPES[schema["type"]], *bounds])
