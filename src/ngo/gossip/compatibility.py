"""The parts that make up a run's step, and which of them go together.

What a part declares is a fact of its registry's entry; its summary and source are in its docstring.
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

#: What a method declares of itself.
DECLARED = ("sends", "graph", "asynchronous", "arrivals", "needs_every_message")

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


@dataclass(frozen=True)
class MethodPart(Part):
    """A method, with its fixed fields and the names of the other parts that it goes with."""

    fixed: Mapping[str, object]
    coupling: tuple[str, ...]
    compression: tuple[str, ...]
    local_rule: tuple[str, ...]
    lr_schedule: tuple[str, ...]
    schedule: tuple[str, ...]
    topology: tuple[str, ...]
    attack: tuple[str, ...]
    #: The numbers in each message along an edge, in a step with an exchange (``method.sent``).
    sends: tuple[str, ...]
    #: The graphs that it allows: ``any``, ``fixed`` or ``tree``.
    graph: str
    #: Whether no worker has to wait for others.
    asynchronous: bool
    #: What a step takes in virtual time, if none does (``method.ARRIVALS``).
    arrivals: str
    #: Whether links may fail and workers be away; if not, why.
    failures: bool
    needs_every_message: str


def parts(kind: str) -> list[Part]:
    """The entries of the registry ``kind``, including plugins'. For methods, see ``methods``."""
    return [_part(kind, name) for name in sorted(REGISTRIES[kind])]


def methods() -> list[MethodPart]:
    """The methods, including plugins'."""
    return [_method(name) for name in sorted(METHODS)]


def _part(kind: str, name: str) -> Part:
    of_entry, of_file = _docstrings(REGISTRIES[kind].definitions.get(name, ":"))
    return Part(
        name, _sentence(of_entry), _source(of_entry, of_file), REGISTRIES[kind][name].fields
    )


def _method(name: str) -> MethodPart:
    entry = METHODS[name]
    able: dict[str, Any] = {kind: REGISTRIES[kind] for kind in REGISTRIES if kind != "method"}
    able["local_rule"] = (
        name for name, rule in LOCAL_RULES.items() if rule.linear or not entry.linear_rule
    )
    able["topology"] = (
        name
        for name, graph in TOPOLOGIES.items()
        if (entry.directed or not graph.directed) and (entry.graph == "any" or not graph.varies)
    )
    for kind in able:
        if kind in entry.fixed:
            able[kind] = (entry.fixed[kind],)
        elif kind in entry.fields or kind in ALWAYS_USED:
            able[kind] = tuple(sorted(able[kind]))
        else:
            able[kind] = ()
    return MethodPart(
        **vars(_part("method", name)),
        **able,
        **{key: getattr(entry, key) for key in DECLARED},
        fixed=dict(entry.fixed),
        failures=entry.decentralized and not entry.needs_every_message,
    )


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
