"""The parts that make up a run's step, and which of them go together.

What is said of a part is taken from its docstring, as far as it is no declared fact.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ngo.common.registry import Registry
from ngo.gossip.compression import COMPRESSIONS
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.local_rule import LOCAL_RULES
from ngo.gossip.lr_schedule import LR_SCHEDULES
from ngo.gossip.method import METHODS
from ngo.gossip.topology import TOPOLOGIES

#: The registries by the field of a run that names an entry of theirs.
REGISTRIES: Mapping[str, Registry[Any]] = {
    each.kind: each
    for each in (METHODS, COUPLINGS, LOCAL_RULES, LR_SCHEDULES, COMPRESSIONS, TOPOLOGIES)
}

_NAME = r"[A-ZÀ-Þ][\w'’-]+"
_WORK = re.compile(rf"{_NAME}(?:(?:, {_NAME})* and {_NAME}| et al\.)? \(?\d{{4}}\)?")
_IN_THE_PAPER = re.compile(r'Algorithm \d+|Figure \d+|equation "\w+"|Eq\. \(\w+\)')


@dataclass(frozen=True)
class Part:
    """What is known of an entry of a registry."""

    name: str
    #: The first sentence of its docstring.
    summary: str
    #: The work that its docstring cites first, or else that of its file; empty if they cite none.
    source: str
    #: The fields of a run that it reads.
    fields: tuple[str, ...]


@dataclass(frozen=True)
class MethodPart(Part):
    """A method: also its fixed fields, and the names of the other parts that it goes with."""

    fixed: Mapping[str, object]
    coupling: tuple[str, ...]
    compression: tuple[str, ...]
    local_rule: tuple[str, ...]
    lr_schedule: tuple[str, ...]
    topology: tuple[str, ...]
    #: The numbers in each message along an edge, in a step with an exchange (``traffic``).
    sends: tuple[str, ...]
    #: The graphs that it allows: ``any``, ``fixed`` or ``tree``.
    graph: str
    #: Whether no worker has to wait for others.
    asynchronous: bool
    #: Whether links may fail and workers be away; if not, why.
    failures: bool
    needs_every_message: str


def parts(kind: str) -> list[Part]:
    """The entries of the registry ``kind`` but those of methods, plugins' included."""
    return [_part(kind, name) for name in sorted(REGISTRIES[kind])]


def methods() -> list[MethodPart]:
    """The methods."""
    return [_method(name) for name in sorted(METHODS)]


def _part(kind: str, name: str) -> Part:
    of_entry, of_file = _docstrings(REGISTRIES[kind].definitions.get(name, ":"))
    return Part(
        name, _sentence(of_entry), _source(of_entry, of_file), REGISTRIES[kind][name].fields
    )


def _method(name: str) -> MethodPart:
    entry = METHODS[name]

    def allowed(kind: str, able: set[str]) -> tuple[str, ...]:
        used = kind in entry.fields or kind in entry.fixed or kind in ("local_rule", "lr_schedule")
        fixed = {entry.fixed[kind]} if kind in entry.fixed else able
        return tuple(sorted(able & fixed)) if used else ()

    return MethodPart(
        **vars(_part("method", name)),
        fixed=dict(entry.fixed),
        coupling=allowed("coupling", set(COUPLINGS)),
        compression=allowed("compression", set(COMPRESSIONS)),
        local_rule=allowed(
            "local_rule",
            {rule for rule, each in LOCAL_RULES.items() if each.linear or not entry.linear_rule},
        ),
        lr_schedule=allowed("lr_schedule", set(LR_SCHEDULES)),
        topology=allowed(
            "topology",
            {
                name
                for name, each in TOPOLOGIES.items()
                if (entry.directed or not each.directed)
                and (entry.graph == "any" or not each.varies)
            },
        ),
        sends=entry.sends,
        graph=entry.graph,
        asynchronous=entry.asynchronous,
        failures=entry.decentralized and not entry.needs_every_message,
        needs_every_message=entry.needs_every_message,
    )


def _docstrings(definition: str) -> tuple[str, str]:
    """Those of the object at ``module:qualname``, and of its module; empty if there are none."""
    module, _, qualname = definition.partition(":")
    found = file = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found.__doc__ or "" if found else "", file.__doc__ or "" if file else ""


def _sentence(docstring: str) -> str:
    """The first sentence, in a line."""
    text = " ".join(docstring.strip().partition("\n\n")[0].replace("``", "").split())
    return re.split(r"(?<!\bal)\.(?:\s|$)", text, maxsplit=1)[0]


def _source(*docstrings: str) -> str:
    """The first work that one of the ``docstrings`` cites, or else the place in the paper."""
    for pattern, prefix in ((_WORK, ""), (_IN_THE_PAPER, "the paper, ")):
        for text in docstrings:
            if found := pattern.search(" ".join(text.split())):
                return prefix + re.sub(r"[()]", "", found[0])
    return ""
