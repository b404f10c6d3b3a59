"""The config section of a measurement: check, JSON Schema and documentation, from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ngo.common.fields import checked
from ngo.common.registry import UserError, shown, unknown
from ngo.measures.measurement import Measurement
from ngo.measures.settings import Setting, settings_of

S = TypeVar("S")


def check_entry(key: str, measurement: Measurement, entry: Mapping[str, object]) -> None:
    """Raise a UserError, under ``key``, for the first mistake in a config's entry.

    The name of a setting is not checked here: it belongs to the section ``settings``.
    """
    own = dict(entry)
    if measurement.run_fields and own.pop("setting", None) is None:
        raise UserError(f"{key}: 'setting' is missing.")
    settings_from(measurement.settings, own, key)


def settings_from(cls: type[S], entry: Mapping[str, object], key: str) -> S:
    """The settings in a config's ``entry``. A UserError names ``key`` and the first mistake."""
    known = settings_of(cls)
    for name in entry:
        if name not in known:
            raise unknown(key, name, known)
    values = {}
    for name, each in known.items():
        if name in entry:
            values[name] = _checked_setting(f"{key}.{name}", each, entry[name])
        elif each.required:
            raise UserError(f"{key}: {name!r} is missing.")
    try:
        return cls(**values)
    except UserError as error:
        raise UserError(f"{key}.{error}") from None


def entry_schema(measurement: Measurement) -> dict[str, object]:
    """The JSON Schema of one entry of a section."""
    known = settings_of(measurement.settings)
    own = {"setting": {"type": "string"}} if measurement.run_fields else {}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*own, *(name for name, each in known.items() if each.required)],
        "properties": {**own, **{name: _setting_schema(each) for name, each in known.items()}},
    }


def _setting_schema(setting: Setting) -> dict[str, object]:
    if not setting.many:
        return setting.field.schema
    least = 0 if setting.default == () else 1
    return {"type": "array", "minItems": least, "uniqueItems": True, "items": setting.field.schema}


def _checked_setting(key: str, setting: Setting, given: object) -> object:
    if not setting.many:
        return checked(key, given, setting.field)
    if not isinstance(given, list) or (not given and setting.default != ()):
        raise UserError(
            f"{key}: {shown(given)} is not allowed; it must be a list of one or more values."
        )
    values = []
    for k, item in enumerate(given):
        values.append(checked(f"{key}[{k}]", item, setting.field))
        if item in given[:k]:
            raise UserError(f"{key}: {shown(given)} repeats {item!r}; each value may appear once.")
    return tuple(values)
