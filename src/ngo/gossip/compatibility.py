"""The parts that make up a run's step, and which of them go together.

The summary and the source of a part are in its docstring.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ngo.common.registry import Registry
from ngo.gossip.attack import ATTACKS
from ngo.gossip.compression import COMPRESSIONS
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.method import METHODS
from ngo.gossip.schedule import LR_SCHEDULES, SCHEDULES
from ngo.gossip.step import LOCAL_RULES
from ngo.gossip.topology import TOPOLOGIES

#: The registries by the field of a run that names an entry of theirs.
REGISTRIES: Mapping[str, Registry[Any]] = {
    registry.kind: registry
    for registry in (
        *(METHODS, COUPLINGS, LOCAL_RULES, LR_SCHEDULES),
        *(SCHEDULES, COMPRESSIONS, TOPOLOGIES, ATTACKS),
    )
}

#: The kinds of parts that every method uses.
ALWAYS_USED = ("local_rule", "lr_schedule")

_NAME = r"[A-ZÀ-Þ][\w'’-]+"
_WORK = re.compile(rf"{_NAME}(?:(?:, {_NAME})* and {_NAME}| et al\.)? \(?\d{{4}}\)?")
_IN_THE_PAPER = re.compile(r'Algorithm \d+|Figure \d+|equation "\w+"|Eq\. \(\w+\)')


@dataclass(frozen=True)
class Part:
    """What is known of an entry of a registry."""

    name: str
    #: The first sentence of its docstring.
    summary: str
    #: The first work that its docstring cites, or else its file's docstring; empty if neither does.
    source: str
    #: The fields of a run that it reads.
    fields: tuple[str, ...]


def parts(kind: str) -> list[Part]:
    """The entries of the registry ``kind``, including plugins'."""
    registry, entries = REGISTRIES[kind], []
    for name in sorted(registry):
        docstrings = _docstrings(registry.definitions.get(name, ":"))
        summary, source = _sentence(docstrings[0]), _source(*docstrings)
        entries.append(Part(name, summary, source, registry[name].fields))
    return entries


def going_with(method: str, kind: str) -> tuple[str, ...]:
    """The names of the parts of a ``kind`` that go with a method."""
    entry = METHODS[method]
    if kind in entry.fixed:
        return (str(entry.fixed[kind]),)
    if kind not in (*entry.fields, *ALWAYS_USED):
        return ()
    names = sorted(REGISTRIES[kind])
    if kind == "local_rule" and entry.linear_rule:
        names = [name for name in names if LOCAL_RULES[name].linear]
    if kind == "topology" and not entry.directed:
        names = [name for name in names if not TOPOLOGIES[name].directed]
    if kind == "topology" and entry.graph != "any":
        names = [name for name in names if not TOPOLOGIES[name].varies]
    return tuple(names)


def _docstrings(definition: str) -> tuple[str, str]:
    """The docstrings of the object at ``module:qualname`` and of its module; empty without one."""
    module, _, qualname = definition.partition(":")
    entry = file = sys.modules.get(module)
    for name in qualname.split("."):
        entry = getattr(entry, name, None)
    return entry.__doc__ or "" if entry else "", file.__doc__ or "" if file else ""


def _sentence(docstring: str) -> str:
    """The first sentence, in one line."""
    text = " ".join(docstring.strip().partition("\n\n")[0].replace("``", "").split())
    return re.split(r"(?<!\bal)\.(?:\s|$)", text, maxsplit=1)[0]


def _source(*docstrings: str) -> str:
    """The first work that one of the ``docstrings`` cites, else the first place in the paper."""
    for pattern, prefix in ((_WORK, ""), (_IN_THE_PAPER, "the paper, ")):
        for text in docstrings:
            if cited := pattern.search(" ".join(text.split())):
                return prefix + re.sub(r"[()]", "", cited[0])
    return ""
