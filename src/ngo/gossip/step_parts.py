"""The parts that make up a run's step, and which of them go together.

The summary of a part is the first sentence of its docstring.
"""

from __future__ import annotations

import re
import sys
from inspect import cleandoc
from typing import Any

from ngo.common.registries import LOCAL_RULES, METHODS, REGISTRIES, TOPOLOGIES

#: The fields of a run that name a part of its step.
PARTS = (
    *("method", "coupling", "local_rule", "lr_schedule"),
    *("schedule", "compression", "topology", "attack"),
)


def going_with(method: str, kind: str) -> tuple[str, ...]:
    """The names of the parts of a ``kind`` that go with a method."""
    entry = METHODS[method]
    if kind in entry.fixed:
        return (str(entry.fixed[kind]),)
    if kind not in (*entry.fields, "local_rule", "lr_schedule"):  # every method uses these two
        return ()
    names = sorted(REGISTRIES[kind])
    if kind == "local_rule" and entry.linear_rule:
        names = [name for name in names if LOCAL_RULES[name].linear]
    if kind == "topology" and not entry.directed:
        names = [name for name in names if not TOPOLOGIES[name].directed]
    if kind == "topology" and entry.graph != "any":
        names = [name for name in names if not TOPOLOGIES[name].varies]
    return tuple(names)


def docstring(kind: str, name: str) -> str:
    """The docstring of an entry; empty without one."""
    registry = REGISTRIES[kind]
    place = registry.definitions.get(name, ":") if name in registry else ":"
    module, _, qualname = place.partition(":")
    entry: Any = sys.modules.get(module)
    for part in qualname.split("."):
        entry = getattr(entry, part, None)
    return cleandoc(entry.__doc__ or "") if entry else ""


def summary(kind: str, name: str) -> str:
    """The first sentence of the docstring of an entry, in one line; empty without one."""
    text = " ".join(docstring(kind, name).partition("\n\n")[0].replace("``", "").split())
    return re.split(r"(?<!\bal)\.(?:\s|$)", text, maxsplit=1)[0]
