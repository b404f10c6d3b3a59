"""Whether the parts of a run's step go together. Each check raises a one-line UserError."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ngo.common.registry import UserError
from ngo.gossip.connected import check_connected
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.local_rule import LOCAL_RULES
from ngo.gossip.method import FAILURES, METHODS, Method
from ngo.gossip.schedule import CHANGEABLE, SCHEDULES, topologies
from ngo.gossip.topology import TOPOLOGIES, Topology
from ngo.gossip.weight_rule import METROPOLIS
from ngo.training.spec import DEFAULTS, FIELDS, RunSpec


def check_step(spec: RunSpec, entry: Method) -> None:
    """Raise unless method, graph, coupling and local rule go together."""
    if entry.decentralized and spec.workers < 2:
        alone = sorted(name for name, each in METHODS.items() if not each.decentralized)
        raise UserError(
            f"workers: {spec.workers} is too few for method {spec.method!r}; it must be 2 or "
            f"more (1 is allowed with method {', '.join(alone)})."
        )
    _check_rule(spec, entry)
    _check_failures(spec, entry)
    if spec.liars and spec.honest < 2:
        raise UserError(
            f"liars: {spec.liars} of {spec.workers} workers leave fewer than two that do not lie."
        )
    _check_schedule(spec, entry)
    for name in topologies(spec):
        topology = TOPOLOGIES[name]
        _check_topology(spec, topology, entry)
        values = {key: getattr(spec, key) for key in topology.fields}
        topology.check_values(spec.workers, **values)
        _check_matching(spec, topology, values)
        if entry.graph == "tree":
            _check_tree(spec, topology, values)
        check_connected(name, spec.workers, values)


def check_argument(key: str, entry: str, name: str) -> None:
    """Raise unless the argument ``name`` of an entry's function is a field of a run."""
    if name not in FIELDS:
        raise UserError(
            f"{key}: {entry!r} takes an argument {name!r}, which is not a field of a run; declare "
            f"it in its options."
        )


def _check_schedule(spec: RunSpec, entry: Method) -> None:
    if spec.schedule is None:
        return
    schedule = SCHEDULES[spec.schedule]
    schedule.check(spec)
    for name in schedule.fields:
        changed = next((each for each in CHANGEABLE if name.endswith(f"_{each}")), None)
        if changed is not None and getattr(spec, name) is not None and changed not in entry.fields:
            able = sorted(key for key, each in METHODS.items() if changed in each.fields)
            raise UserError(
                f"{name}: {getattr(spec, name)!r} has no effect with method {spec.method!r}; "
                f"{changed} is read with method {', '.join(able)}."
            )
    if entry.graph != "any" and len(graphs := list(topologies(spec))) > 1:
        raise UserError(
            f"schedule: {spec.schedule!r} changes the graph to {graphs[1]!r}, and method "
            f"{spec.method!r} builds on earlier steps with the same neighbours."
        )


def _check_topology(spec: RunSpec, topology: Topology, entry: Method) -> None:
    if topology.directed and not entry.directed:
        able = sorted(name for name, each in METHODS.items() if each.directed)
        raise UserError(
            f"topology: {topology.name!r} is directed, and method {spec.method!r} needs "
            f"symmetric weights; methods for directed graphs: {', '.join(able) or 'none'}."
        )
    if spec.weights not in (None, METROPOLIS) and (topology.directed or topology.weighted):
        raise UserError(
            f"weights: {spec.weights!r} has no effect with topology {topology.name!r}, which "
            f"{'is directed' if topology.directed else 'has its own'}; it must be {METROPOLIS}."
        )
    for name in topology.fields:
        check_argument("topology", topology.name, name)
    if entry.graph != "any" and topology.varies:
        fixed = (name for name, each in TOPOLOGIES.items() if not (each.varies or each.directed))
        raise UserError(
            f"topology: {topology.name!r} may change at each step, and method {spec.method!r} "
            f"builds on earlier steps with the same neighbours; fixed topologies: "
            f"{', '.join(sorted(fixed))}."
        )


def _check_matching(spec: RunSpec, topology: Topology, values: Mapping[str, object]) -> None:
    needed = spec.coupling is not None and COUPLINGS[spec.coupling].matching
    if needed and not topology.matching(spec.workers, **values):
        raise UserError(
            f"coupling: {spec.coupling!r} needs at most one neighbour of each worker in a step, "
            f"and topology {topology.name!r} has more; topologies that can: "
            f"{', '.join(_matchings(spec.workers))}."
        )


def _matchings(n: int) -> Iterator[str]:
    """The topologies that are matchings at the default values of their fields.

    Where that depends on the values, they are named: "base_graph with peers 1".
    """
    for name, entry in sorted(TOPOLOGIES.items()):
        values = {key: DEFAULTS.get(key) for key in entry.fields}
        if entry.connected and entry.matching(n, **values):
            depends = callable(entry.facts["matching"]) and values
            named = " and ".join(f"{key} {value}" for key, value in values.items())
            yield f"{name} with {named}" if depends else name


def _check_tree(spec: RunSpec, topology: Topology, values: Mapping[str, object]) -> None:
    from networkx import Graph, is_connected

    edges = topology.edges(spec.workers, **values)
    graph = Graph(edges)
    graph.add_nodes_from(range(spec.workers))
    if len(edges) != spec.workers - 1 or not is_connected(graph):
        raise UserError(
            f"topology: {topology.name!r} is no tree, with {len(edges)} edges on {spec.workers} "
            f"workers, and method {spec.method!r} needs one: {spec.workers - 1} edges without "
            f"a cycle, such as those of chain and star."
        )


def _check_rule(spec: RunSpec, entry: Method) -> None:
    if entry.linear_rule and not LOCAL_RULES[spec.local_rule].linear:
        able = sorted(name for name, each in LOCAL_RULES.items() if each.linear)
        raise UserError(
            f"local_rule: {spec.local_rule!r} is not linear in the gradients, and with it method "
            f"{spec.method!r} would end at a biased point; allowed: {', '.join(able)}."
        )


def _check_failures(spec: RunSpec, entry: Method) -> None:
    for name in FAILURES:
        rate = getattr(spec, name)
        if rate and entry.needs_every_message:
            raise UserError(
                f"{name}: {rate:g} is not possible with method {spec.method!r}, which "
                f"{entry.needs_every_message}; it must be 0."
            )
