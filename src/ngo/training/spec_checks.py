"""The checked run that the values of a user describe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ngo.common.fields import DECLARED, checked
from ngo.common.seeding import numpy_stream
from ngo.common.usual_words import unknown_field
from ngo.data.dataset import DATASETS, Source
from ngo.data.partition import OWNERS, PARTITIONS, REFUSED, Parts, Rule, by_owner
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.method import ARRIVALS, FAILURES, GRAPHS, METHODS, NUMBERS, Method
from ngo.gossip.mixing_matrix import METROPOLIS
from ngo.gossip.schedule import CHANGEABLE, SCHEDULES, topologies
from ngo.gossip.step import LOCAL_RULES
from ngo.gossip.topology import TOPOLOGIES, Topology, check_connected
from ngo.models.model import MODELS, Model
from ngo.training.clocks import CLOCKS, PARTS
from ngo.training.spec import DEFAULTS, FIELDS, FINAL, RunSpec
from verdicts.registry import Registry, UserError, unknown


def check_fit(spec: RunSpec, source: Source, model: Model, entry: Method) -> None:
    """Raise unless method, network, model and data go together, with enough samples for all."""
    check_step(spec, entry)
    check_clock(spec, entry)
    _check_model(spec, source, model)
    rule = PARTITIONS[spec.partition]
    if rule.by_label and source.classes is None:
        raise UserError(
            f"partition: {spec.partition!r} needs classes, which dataset {spec.dataset!r} lacks: a "
            f"whole number from 0 for each sample."
        )
    if by_owner(rule) and spec.dataset not in OWNERS:
        raise UserError(
            f"partition: {spec.partition!r} needs the owners of samples, which dataset "
            f"{spec.dataset!r} lacks; data sets with owners: {', '.join(OWNERS) or 'none'}."
        )
    for name in rule.fields:
        check_argument("partition", spec.partition, name)
    kept = spec.kept(source.train_samples)
    _check_samples(spec, kept)
    _check_smallest(spec, rule, kept)


def check_method(name: str, entry: Method) -> None:
    """Raise unless fields of a run, graphs and messages have the names that a method declares."""
    for key, names, known in (
        ("field", (*entry.fields, *entry.fixed), FIELDS),
        ("graph", (entry.graph,), GRAPHS),
        ("sends", entry.sends, NUMBERS),
        ("arrivals", (entry.arrivals,), ARRIVALS),
    ):
        for declared in names:
            if declared not in known:
                error = unknown_field if key == "field" else unknown
                raise error(f"{key} of method {name!r}", declared, known)


def _check_model(spec: RunSpec, source: Source, model: Model) -> None:
    if model.input_shape != source.input_shape:
        shape = source.input_shape
        fitting = names_of(MODELS, lambda entry: entry.input_shape == shape)
        raise UserError(
            f"model: {spec.model!r} takes inputs of shape {model.input_shape}, dataset "
            f"{spec.dataset!r} has {shape}; it goes with model {fitting}."
        )
    if model.task != spec.task:
        raise UserError(f"model: {spec.model!r} serves task {model.task!r}, not {spec.task!r}.")
    if spec.augmentation != "none" and len(source.input_shape) != 3:
        raise UserError(
            f"augmentation: {spec.augmentation!r} needs images, which dataset {spec.dataset!r} "
            f"lacks; it must be 'none'."
        )
    if spec.batch_size < model.smallest_batch:
        raise UserError(
            f"batch_size: {spec.batch_size} is too small for model {spec.model!r} (batch "
            f"normalization); it must be {model.smallest_batch} or more."
        )


def _check_samples(spec: RunSpec, m: int) -> None:
    """Raise unless ``m`` samples are enough for the partition."""
    n = spec.workers
    for key, workers in (("workers", 1), ("shards", 1), ("samples_per_worker", n), ("smallest", n)):
        if (count := getattr(spec, key)) is not None and workers * count > m:
            raise UserError(
                f"{key}: {count}{f' for each of {n} workers' if workers == n else ''} is more than "
                f"{spec.dataset}'s {m} samples; at most {m // workers}."
            )
    if spec.shards and spec.shards_per_worker and n * spec.shards_per_worker > spec.shards:
        raise UserError(
            f"shards_per_worker: {spec.shards_per_worker} for each of {n} workers are more than "
            f"the {spec.shards} shards; at most {spec.shards // n}, or more shards."
        )


def check_filled(spec: RunSpec, parts: Parts) -> None:
    """Raise if a worker has no samples, which no batch size would mend."""
    empty = [i for i, part in enumerate(parts) if len(part) == 0]
    if empty:
        with_beta, larger = "", ""
        if "beta" in PARTITIONS[spec.partition].fields:
            with_beta, larger = f" with beta {spec.beta:g}", "a larger beta, "
        raise UserError(
            f"partition: {spec.partition}{with_beta} leaves worker {empty[0]} without samples; use "
            f"{larger}fewer workers, another seed, or dirichlet_min, which gives each worker at "
            f"least `smallest` samples."
        )


def smallest_share(parts: Parts) -> tuple[int, int]:
    """The number of samples of the worker with the fewest, and which worker it is."""
    return min((len(part), i) for i, part in enumerate(parts))


def check_share(spec: RunSpec, share: int, worker: int | None = None) -> None:
    """Raise unless the worker with the fewest samples, ``share``, can fill a batch.

    ``worker`` is its number, where that is known.
    """
    if spec.short_share == REFUSED and spec.batch_size > share:
        raise UserError(
            f"batch_size: {spec.batch_size} is larger than "
            f"{'a worker' if worker is None else f'worker {worker}'}'s share of {share} samples, "
            f"the smallest ({spec.dataset}, partition {spec.partition}, {spec.workers} workers, "
            f"seed {spec.seed}); it must be {share} or less, or short_share repeat (samples come "
            f"again within a batch)."
        )


def check_parts(spec: RunSpec, parts: Parts) -> None:
    """Raise if a worker has no samples, or too few to fill a batch."""
    check_filled(spec, parts)
    check_share(spec, *smallest_share(parts))


def _check_smallest(spec: RunSpec, rule: Rule, m: int) -> None:
    """``check_share`` of a partition of ``m`` samples, before their labels are known."""
    if rule.smallest_share is None:
        return
    share, worker = rule.smallest_share(m, spec.workers, **rule.arguments(spec)), None
    if share < spec.batch_size and not rule.by_label:  # such a rule reads no labels
        generator = numpy_stream(spec.seed, "partition")
        labels = np.zeros(m, np.int64)
        parts = rule.assign(labels, spec.workers, **rule.arguments(spec), generator=generator)
        share, worker = smallest_share(parts)
    check_share(spec, share, worker)


def check_snapshots(spec: RunSpec, snapshots: Iterable[int | str], last: int) -> None:
    """Raise unless the run, whose last step is ``last``, reaches these steps."""
    for step in snapshots:
        if isinstance(step, int) and step > last:
            raise UserError(
                f"snapshots: step {step} is after the last step of {spec.id}, {last}; it must be "
                f"{last} or less, or {FINAL!r}."
            )


def check_step(spec: RunSpec, entry: Method) -> None:
    """Raise unless method, graph, coupling and local rule go together."""
    if entry.decentralized and spec.workers < 2:
        alone = names_of(METHODS, lambda method: not method.decentralized)
        raise UserError(
            f"workers: {spec.workers} is too few for method {spec.method!r}; it must be 2 or "
            f"more (1 is allowed with method {alone})."
        )
    if entry.linear_rule and not LOCAL_RULES[spec.local_rule].linear:
        raise UserError(
            f"local_rule: {spec.local_rule!r} is not linear in the gradients, and with it method "
            f"{spec.method!r} would end at a biased point; allowed: "
            f"{names_of(LOCAL_RULES, lambda rule: rule.linear)}."
        )
    for name in FAILURES:
        if (rate := getattr(spec, name)) and entry.needs_every_message:
            raise UserError(
                f"{name}: {rate:g} is not possible with method {spec.method!r}, which "
                f"{entry.needs_every_message}; it must be 0."
            )
    if spec.liars and spec.honest < 2:
        raise UserError(
            f"liars: {spec.liars} of {spec.workers} workers leave fewer than two honest ones."
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


def names_of(registry: Registry[Any], fits: Callable[[Any], object]) -> str:
    """The names of the entries that fit, in words."""
    return ", ".join(sorted(name for name, entry in registry.items() if fits(entry))) or "none"


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
        changed = next((field for field in CHANGEABLE if name.endswith(f"_{field}")), None)
        if changed is not None and getattr(spec, name) is not None and changed not in entry.fields:
            able = sorted(method for method in METHODS if changed in METHODS[method].fields)
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
        raise UserError(
            f"topology: {topology.name!r} is directed, and method {spec.method!r} needs "
            f"symmetric weights; methods for directed graphs: "
            f"{names_of(METHODS, lambda method: method.directed)}."
        )
    if spec.weights not in (None, METROPOLIS) and (topology.directed or topology.weighted):
        raise UserError(
            f"weights: {spec.weights!r} has no effect with topology {topology.name!r}, which "
            f"{'is directed' if topology.directed else 'has its own'}; it must be {METROPOLIS}."
        )
    for name in topology.fields:
        check_argument("topology", topology.name, name)
    if entry.graph != "any" and topology.varies:
        fixed = names_of(TOPOLOGIES, lambda graph: not (graph.varies or graph.directed))
        raise UserError(
            f"topology: {topology.name!r} may change at each step, and method {spec.method!r} "
            f"builds on earlier steps with the same neighbours; fixed topologies: {fixed}."
        )


def _check_matching(spec: RunSpec, topology: Topology, values: Mapping[str, object]) -> None:
    needed = spec.coupling is not None and COUPLINGS[spec.coupling].matching
    if needed and not topology.matching(spec.workers, **values):
        raise UserError(
            f"coupling: {spec.coupling!r} needs at most one neighbour of each worker in a step, "
            f"and topology {topology.name!r} has more; topologies that can: "
            f"{names_of(TOPOLOGIES, lambda g: g.connected and g.facts['matching'] is True)}."
        )


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


def check_clock(spec: RunSpec, entry: Method) -> None:
    """Raise a one-line UserError unless method, failures and traces go with the run's clock."""
    if spec.clock != "asynchronous":
        if entry.arrivals == "pair":
            raise UserError(
                f"clock: {spec.clock!r} is not possible with method {spec.method!r}, whose workers "
                f"never step together; it must be asynchronous."
            )
    elif not entry.asynchronous and entry.arrivals == "newest":
        able = names_of(METHODS, lambda m: m.asynchronous or m.arrivals != "newest")
        raise UserError(
            f"clock: 'asynchronous' is not possible with method {spec.method!r}, whose workers "
            f"have to wait; it must be waiting or steps, or the method one of {able}."
        )
    else:
        _check_asynchronous(spec)
    if spec.clock != "steps":
        for name, registry in PARTS.items():
            registry[getattr(spec, name)].of(spec)


def _check_asynchronous(spec: RunSpec) -> None:
    for name in FAILURES:
        if rate := getattr(spec, name):
            raise UserError(
                f"{name}: {rate:g} is drawn for the steps that all workers take together, and "
                f"with clock 'asynchronous' they take none; it must be 0."
            )
    if spec.liars:
        raise UserError(
            f"attack: {spec.attack!r} is about the models of one step, and with clock "
            f"'asynchronous' models of several steps meet; it must be none."
        )
    if spec.coupling is not None and COUPLINGS[spec.coupling].matching:
        raise UserError(
            f"coupling: {spec.coupling!r} moves both ends of an edge at once, and with clock "
            f"'asynchronous' each worker moves alone."
        )


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
    stated = {**{name: field.default for name, field in fields.items()}, **said}
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
