"""The arguments of ``fit`` that are checked, and turned into fields of a run."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from ngo.common.devices import chosen, usable
from ngo.common.former import FORMER, renamed
from ngo.common.registry import Registry, UserError, meant, shown, unknown
from ngo.data.partition import PARTITIONS, Parts, Rule, parts_digest
from ngo.gossip.method import METHODS
from ngo.gossip.schedule import topologies
from ngo.gossip.topologies.graph_file import file_nodes
from ngo.gossip.topology import TOPOLOGIES
from ngo.training.own_data import by_worker, own_parts
from ngo.training.own_graph import check_name, own_graph
from ngo.training.spec import FIELDS, RunSpec

log = logging.getLogger("ngo")


def known(fields: dict[str, Any], method: str, arguments: Collection[str]) -> dict[str, Any]:
    """The fields under present names, as Python's numbers; a UserError for another keyword.

    ``arguments`` are the names of fit's own arguments.
    """
    former = [name for name in fields if name in FORMER]
    if former and method != "ngo":
        raise UserError(f"fit: {former[0]!r} is called {FORMER[former[0]]!r} now; give it once.")
    for name in ("dataset", "model", "task"):
        if name in fields:
            raise UserError(f"{name}: not an argument of fit; it takes module, train and method.")
    if not isinstance(fields.get("graph", ""), str):
        raise UserError(
            f"graph: {shown(fields['graph'])} is not the path of a file; a graph itself is given "
            f"as topology=…"
        )
    own = [name for name in arguments if name != "fields"]
    taken = [*own, *(name for name in FIELDS if name not in ("dataset", "model", "task", *own))]
    for name in fields:
        if name not in taken and name not in FORMER:
            raise UserError(
                f"fit: {name!r} is not an argument.{meant(name, taken)} fit takes "
                f"{', '.join(own)}, and the fields that `ngo fields` lists."
            )
    fields = renamed(fields, "fit")  # says the present name
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in fields.items()}


def check_method(method: object) -> None:
    """Raise a UserError, with an example, unless there is a method of this name."""
    if not isinstance(method, str):
        raise UserError(
            f"method: {shown(method)} is not a name; register a function with @ngo.method('name') "
            f"and give the name, for example method='dsgd'."
        )
    if method not in METHODS:
        raise UserError(f"{unknown('method', method, METHODS)} For example method='dsgd'.")


def check_callbacks(callbacks: Mapping[str, object]) -> None:
    """Raise a UserError, with an example, for a callback that is no function."""
    for name, callback in callbacks.items():
        if callback is not None and not callable(callback):
            raise UserError(
                f"{name}: {shown(callback)} is not a function; for example "
                f"{name}=lambda state: print(state.step, state.V)."
            )


def with_partition(train: Any, fields: dict[str, Any], stack: ExitStack) -> Any:
    """All training samples. If the user says who owns which, ``fields`` gets that partition."""
    given, partition = by_worker(train), fields.get("partition")
    if given is None and (partition is None or isinstance(partition, str)):
        return train
    if given is not None and partition is not None:
        raise UserError("partition: train is a list of workers' data sets already; leave it out.")
    train, parts = given if given is not None else (train, own_parts(partition))
    if fields.get("holdout"):
        raise UserError(
            "holdout: each worker's samples are given, so none can be held out; leave held-out "
            "samples out of them, and give them as test."
        )
    if fields.setdefault("workers", len(parts)) != len(parts):
        raise UserError(
            f"workers: {fields['workers']} is not the number of workers that have samples, "
            f"{len(parts)}."
        )
    name = f"own-{parts_digest(parts)[:8]}"
    smallest, owned = min(map(len, parts)), sum(map(len, parts))

    def assign(labels: np.ndarray, n: int, *, generator: np.random.Generator) -> Parts:
        return parts

    rule = Rule(assign, lambda m, n, **_: smallest, lambda m, n, **_: owned, by_label=False)
    _registered(PARTITIONS, name, rule, stack)
    fields["partition"] = name
    return train


def with_topology(fields: dict[str, Any], stack: ExitStack) -> dict[str, Any]:
    """Register a topology that is no name, and put its name and size into ``fields``.

    Returns what ``numbered`` says of a networkx graph; empty for anything else.
    """
    given = fields.get("topology")
    if isinstance(given, str):
        check_name(given)
    elif given is not None:
        entry, n, about = own_graph(given, fields.get("workers"))
        _registered(TOPOLOGIES, entry.name, entry, stack)
        fields |= {"topology": entry.name, "workers": n}
        return about
    return {}


def node_names(graph: Mapping[str, Any], spec: RunSpec) -> list[Any] | None:
    """The nodes of a networkx graph (see ``with_topology``), or the names of a graph file's; None
    for another topology. What the user should know of the graph is logged.
    """
    found = graph or file_nodes(topologies(spec), spec.workers, spec.graph)
    for note in found.get("notes", ()):
        log.warning(note)
    return found.get("nodes" if graph else "names")


def _registered(registry: Registry[Any], name: str, entry: object, stack: ExitStack) -> None:
    """Register an entry until ``stack`` ends; names are by content, so that one may be there."""
    if name not in registry:
        registry.add(name, entry)
        stack.callback(registry.pop, name, None)


def torch_device(device: object) -> str:
    """``cpu`` or ``cuda``; a UserError if torch has no such device."""
    wanted = str(device)
    name = "cpu" if wanted == "cpu" else chosen(wanted)
    return name if name == "cpu" or usable(wanted, name) else "cpu"
