"""The checked run that the values of a user describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ngo.common.fields import checked
from ngo.common.options import DECLARED
from ngo.common.registry import Registry, UserError, unknown_field
from ngo.data.dataset import DATASETS, Source
from ngo.gossip.method import METHODS
from ngo.gossip.schedule import SCHEDULES
from ngo.models.model import MODELS, Model
from ngo.training.checks import check_fit, check_method
from ngo.training.spec import DEFAULTS, FIELDS, RunSpec
from ngo.training.virtual.clock import CLOCKS, PARTS

# The methods whose subject is φ_p. The others have p = 1 by default, as they were published.
NONLINEAR = ("ngo", "delayed")


def resolve(
    given: Mapping[str, object],
    defaults: Mapping[str, object] | None = None,
    *,
    source: Source | None = None,
    model: Model | None = None,
) -> RunSpec:
    """The checked run with the values ``given``, then of ``defaults``, then of the package.

    A default without a meaning for this run is dropped. A given value without a meaning is an
    error, since no result would show it.

    ``source`` and ``model`` describe a data set and a model that no registry has; their names are
    not checked then. Raises a one-line UserError.
    """
    fields = dict(FIELDS)
    for name in given:
        if name not in fields:
            raise unknown_field("field of a run", name, fields)
    said = {**(defaults or {}), **given}
    stated = {**DEFAULTS, **said}
    if "p" not in said and _linear(stated):
        stated["p"] = 1.0
    free = {key for key, entry in (("dataset", source), ("model", model)) if entry is not None}

    def stated_value(name: str) -> Any:
        if name in free or (stated[name] is None and fields[name].optional):
            return stated[name]
        return checked(name, stated[name], fields[name])

    chosen = {name: stated_value(name) for name in ("method", "partition", "lr_schedule")}
    chosen["dataset"] = stated_value("dataset") if source is None else None
    entry = METHODS[chosen["method"]]
    check_method(chosen["method"], entry)
    parts = ("topology", "coupling", "compression", "local_rule", "schedule", "attack")
    for name in parts:
        used = name in entry.fields or name in entry.fixed or not fields[name].owners
        chosen[name] = entry.fixed.get(name, stated_value(name)) if used else None
    chosen["clock"] = stated_value("clock")
    for name in PARTS:
        used = name in CLOCKS[chosen["clock"]].fields
        chosen[name] = stated_value(name) if used else None
    read = {owner: _read_by(owner, choice) for owner, choice in chosen.items()}
    if chosen["schedule"] is not None:
        for name in SCHEDULES[chosen["schedule"]].graphs:
            read["topology"] += _read_by("topology", stated_value(name))
    values: dict[str, object] = {}
    for name, field in fields.items():
        unused = [owner for owner in field.owners if name not in read[owner]]
        if name in entry.fixed and not field.owners:
            unused = ["method"]
        if not unused:
            values[name] = stated_value(name)
            continue
        values[name] = entry.fixed.get(name)
        if name in given and given[name] != values[name]:
            value = check_field(name, given[name])
            raise _without_effect(name, value, values[name], unused[0], chosen)
    spec = RunSpec.of({k: v for k, v in values.items() if v is not None or k not in DECLARED})
    check_fit(spec, source or DATASETS[spec.dataset], model or MODELS[spec.model], entry)
    return spec


def default_in_words(name: str) -> str:
    """The default of a field, for print."""
    if name != "p":
        return str(DEFAULTS[name])
    others = f"couplings other than {DEFAULTS['coupling']}"
    return f"{DEFAULTS['p']} with {', '.join(NONLINEAR)} and {others}; else 1"


def check_field(name: str, value: object) -> Any:
    """``value`` as the field's own type; a UserError if it is not allowed."""
    return checked(name, value, FIELDS[name])


def in_words(value: object) -> str:
    """A value of a field in a message: numbers are short, names are quoted."""
    return f"{value:g}" if isinstance(value, int | float) else repr(value)


def _linear(stated: Mapping[str, object]) -> bool:
    """Whether gossip is linear where no p is stated."""
    return stated["method"] not in NONLINEAR and stated["coupling"] == DEFAULTS["coupling"]


def _read_by(owner: str, choice: str | None) -> tuple[str, ...]:
    """The fields that the chosen entry of a registry reads."""
    return () if choice is None else _entries(owner)[choice].fields


def _entries(owner: str) -> Registry[Any]:
    """The registry of a field whose choice gives other fields a meaning."""
    return FIELDS[owner].names  # type: ignore[return-value]  # such a field has names


def _without_effect(
    name: str, value: object, fixed: object, owner: str, chosen: Mapping[str, str | None]
) -> UserError:
    users = sorted(key for key, entry in _entries(owner).items() if name in entry.fields)
    other = "clock" if owner in PARTS else "method"
    choice = f"{owner} {chosen[owner]!r}" if chosen[owner] else f"{other} {chosen[other]!r}"
    is_fixed = "" if fixed is None else f" (it is {in_words(fixed)} there)"
    readers = f"; {name} is read with {owner} {', '.join(users)}" if users else ""
    return UserError(f"{name}: {value!r} has no effect with {choice}{is_fixed}{readers}.")
