"""``resolve``: from a user's values to a checked run, with an error for what can't go together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ngo.common.fields import above, at_least, brought, checked, fields_of, unknown_field
from ngo.common.plugins import blamed
from ngo.common.registries import (
    COUPLINGS,
    DATASETS,
    DECLARED,
    LOCAL_RULES,
    LR_SCHEDULES,
    METHODS,
    MODELS,
    PARTITIONS,
    SCHEDULES,
    TOPOLOGIES,
)
from ngo.common.seeding import numpy_stream
from ngo.data.dataset import Source
from ngo.data.partition import OWNERS, Parts, by_owner, checked_parts, parts_digest
from ngo.gossip.method import ARRIVALS, FAILURES, GRAPHS, NUMBERS, Method
from ngo.gossip.schedule import CHANGEABLE, topologies
from ngo.gossip.topology import check_connected
from ngo.models.model import Model
from ngo.training.clocks import PARTS
from ngo.training.spec import FIELDS, FINAL, NEUTRAL, NONLINEAR, RunSpec, own_entries
from verdicts.registry import Registry, UserError, check, one_of


def names_of(registry: Registry[Any], fits: Callable[[Any], object]) -> str:
    """The names of the entries that fit, in words."""
    return ", ".join(sorted(name for name, entry in registry.items() if fits(entry))) or "none"


def _readers(registry: Registry[Any], field: str) -> str:
    """The names of the entries that read a field of a run, in words."""
    return names_of(registry, lambda entry: field in entry.fields)


def _undeclared(key: str, entry: str, arguments: Iterable[str]) -> object:
    """The mistake of an entry's function with an argument that is not a field of a run."""
    name = next((name for name in arguments if name not in FIELDS), None)
    return name is not None and (
        f"{key}: {entry!r} takes an argument {name!r}, which is not a field of a run; declare "
        f"it in its options."
    )


#: The objective that counts workers equally.
EQUAL = NEUTRAL["objective"]

#: What a run with ``participants`` has, where its method reads the field: after an exchange, a
#: worker has the server's model.
SERVED = {
    **{"topology": "complete", "gamma": 1.0, "gamma_decay": 0.0, "p": 1.0},
    **{name: NEUTRAL[name] for name in ("weights", "schedule", "coupling", "initialization")},
    **{name: NEUTRAL[name] for name in ("link_failure", "absence", "attack", "clock")},
}


def _mistakes_of_participants(spec: RunSpec, entry: Method) -> Iterator[object]:
    if not (m := spec.participants):
        return
    yield m > spec.workers and (
        f"participants: {m} is more than the {spec.workers} workers; at most {spec.workers}."
    )
    yield "participants" not in entry.fields and (
        f"participants: {m} is not possible with method {spec.method!r}, whose workers keep their "
        f"own models; absence is the probability that one is away in a step there. Methods with a "
        f"server: {_readers(METHODS, 'participants')}."
    )
    for name, simple in SERVED.items():
        yield (value := getattr(spec, name)) not in (None, simple) and (
            f"participants: {m} is not possible with {name} {in_words(value)}, since the next ones "
            f"start from a server's model; {name} must be {in_words(simple)}."
        )


def _check_schedules(spec: RunSpec) -> None:
    """Raise a UserError if a schedule of the user's has a wrong value, or another one each time."""
    registries: dict[str, Any] = {"schedule": SCHEDULES, "lr_schedule": LR_SCHEDULES}
    for key in registries.keys() & own_entries(spec).keys():
        what, entry = f"{key}: {getattr(spec, key)!r}", registries[key][getattr(spec, key)]
        values = entry.values if key == "schedule" else entry.of
        for share in (k / 100 for k in range(100)):
            with blamed(f"{key} {getattr(spec, key)!r}", values):
                found, again = (values(share, spec) for _ in range(2))
            if key == "lr_schedule":
                found, again = {"factor": found}, {"factor": again}
            if not isinstance(found, Mapping):
                raise UserError(f"{what} returned {type(found).__name__}; it must be a mapping.")
            for name, value in found.items():
                allowed = at_least(0) if name == "gamma" else above(0)  # γ = 0 is no exchange
                right = isinstance(value, int | float) and value in allowed and value < math.inf
                if name != "topology" and not right:
                    told = f"{name} {value!r} after a share {share:g} of the steps"
                    raise UserError(f"{what} has {told}; it must be a number, {allowed}.")
            if again != found:
                raise UserError(f"{what} gives other values when it is asked again.")


def _mistakes(spec: RunSpec, source: Source, model: Model, entry: Method) -> Iterator[object]:
    """The message of each mistake in values that have to go together, or a false value."""
    method, data = f"method {spec.method!r}", f"dataset {spec.dataset!r}"
    alone, among = spec.clock == "asynchronous", "with clock 'asynchronous'"
    rule, shape = PARTITIONS[spec.partition], source.input_shape
    n, kept = spec.workers, spec.kept(source.train_samples)
    yield from _mistakes_of_participants(spec, entry)
    yield (entry.decentralized and n < 2) and (
        f"workers: {n} is too few for {method}; it must be 2 or more (1 is allowed "
        f"with method {names_of(METHODS, lambda other: not other.decentralized)})."
    )
    yield (entry.linear_rule and not LOCAL_RULES[spec.local_rule].linear) and (
        f"local_rule: {spec.local_rule!r} is not linear in the gradients, and with it {method} "
        f"would end at a biased point; allowed: "
        f"{names_of(LOCAL_RULES, lambda rule: rule.linear)}."
    )
    for name in FAILURES:
        rate, reason = getattr(spec, name), entry.needs_every_message
        yield (rate and reason) and (
            f"{name}: {rate:g} is not possible with {method}, which {reason}; it must be 0."
        )
        yield (rate and alone) and (
            f"{name}: {rate:g} is drawn for the steps that all workers take together, and "
            f"{among} they take none; it must be 0."
        )
    yield (spec.liars and spec.honest < 2) and (
        f"liars: {spec.liars} of {n} workers leave fewer than two honest ones."
    )
    weighed = spec.objective != EQUAL and f"objective: {spec.objective!r} is not possible with"
    yield (weighed and "objective" not in entry.fields) and (
        f"{weighed} {method}, where workers count equally; it must be {EQUAL}, or the method one "
        f"of {_readers(METHODS, 'objective')}."
    )
    yield (weighed and spec.coupling and not COUPLINGS[spec.coupling].weighs) and (
        f"{weighed} coupling {spec.coupling!r}, whose pulls are not opposite and in proportion to "
        f"W_ij; those of {names_of(COUPLINGS, lambda coupling: coupling.weighs)} are."
    )
    for name, simple in ((name, NEUTRAL[name]) for name in ("attack", "clock")):
        yield (weighed and (value := getattr(spec, name)) not in (None, simple)) and (
            f"{weighed} {name} {value!r}; it must be {EQUAL}, or the {name} {simple}."
        )
    schedule = SCHEDULES[spec.schedule or NEUTRAL["schedule"]]
    schedule.check(spec)
    _check_schedules(spec)
    for name, field in product(schedule.fields, CHANGEABLE):
        changed = name.endswith(f"_{field}") and getattr(spec, name) is not None
        yield (changed and field not in entry.fields) and (
            f"{name}: {getattr(spec, name)!r} has no effect with {method}; {field} is read with "
            f"method {_readers(METHODS, field)}."
        )
    yield (entry.graph != "any" and len(graphs := list(topologies(spec))) > 1) and (
        f"schedule: {spec.schedule!r} changes the graph to {graphs[1]!r}, and {method} builds "
        f"on earlier steps with the same neighbours."
    )
    for name in topologies(spec):
        yield from _mistakes_of_topology(spec, entry, name)
    yield (entry.arrivals == "pair" and not alone) and (
        f"clock: {spec.clock!r} is not possible with {method}, whose workers never step "
        f"together; it must be asynchronous."
    )
    yield (alone and not entry.asynchronous and entry.arrivals == "newest") and (
        f"clock: 'asynchronous' is not possible with {method}, whose workers have to wait; it must "
        f"be waiting or steps, or the method one of "
        f"{names_of(METHODS, lambda m: m.asynchronous or m.arrivals != 'newest')}."
    )
    yield (alone and spec.liars) and (
        f"attack: {spec.attack!r} is about the models of one step, and {among} models of several "
        f"steps meet; it must be none."
    )
    yield (alone and spec.coupling is not None and COUPLINGS[spec.coupling].matching) and (
        f"coupling: {spec.coupling!r} moves both ends of an edge, and {among} each moves alone."
    )
    for name, registry in PARTS.items() if spec.clock != "steps" else ():
        registry[getattr(spec, name)].of(spec)
    yield model.input_shape != shape and (
        f"model: {spec.model!r} takes inputs of shape {model.input_shape}, {data} has "
        f"{shape}; it goes with model {names_of(MODELS, lambda entry: entry.input_shape == shape)}."
    )
    yield model.task != spec.task and (
        f"model: {spec.model!r} serves task {model.task!r}, not {spec.task!r}."
    )
    yield (spec.augmentation != "none" and len(shape) != 3) and (
        f"augmentation: {spec.augmentation!r} needs images, which {data} lacks; it must be 'none'."
    )
    yield spec.batch_size < model.smallest_batch and (
        f"batch_size: {spec.batch_size} is too small for model {spec.model!r} (batch "
        f"normalization); it must be {model.smallest_batch} or more."
    )
    yield (rule.by_label and source.classes is None) and (
        f"partition: {spec.partition!r} needs classes, which {data} lacks: whole numbers from 0."
    )
    yield (by_owner(rule) and spec.dataset not in OWNERS) and (
        f"partition: {spec.partition!r} needs the owners of samples, which {data} lacks; data sets "
        f"with owners: {', '.join(OWNERS) or 'none'}."
    )
    yield _undeclared("partition", spec.partition, rule.fields)
    for key, workers in (("workers", 1), ("shards", 1), ("samples_per_worker", n), ("smallest", n)):
        yield (workers * (count := getattr(spec, key) or 0) > kept) and (
            f"{key}: {count}{f' for each of {n} workers' if workers == n else ''} is more than "
            f"{spec.dataset}'s {kept} samples; at most {kept // workers}."
        )
    yield (spec.shards and n * (spec.shards_per_worker or 0) > spec.shards) and (
        f"shards_per_worker: {spec.shards_per_worker} for each of {n} workers are more than "
        f"the {spec.shards} shards; at most {spec.shards // n}, or more shards."
    )


def _mistakes_of_topology(spec: RunSpec, entry: Method, name: str) -> Iterator[object]:
    n, topology, method = spec.workers, TOPOLOGIES[name], f"method {spec.method!r}"
    yield (topology.directed and not entry.directed) and (
        f"topology: {name!r} is directed, and {method} needs symmetric weights; methods for "
        f"directed graphs: {names_of(METHODS, lambda other: other.directed)}."
    )
    own = topology.directed or topology.weighted
    yield (own and spec.weights not in (None, NEUTRAL["weights"])) and (
        f"weights: {spec.weights!r} has no effect with topology {name!r}, which "
        f"{'is directed' if topology.directed else 'has its own'}; it must be {NEUTRAL['weights']}."
    )
    yield _undeclared("topology", name, topology.fields)
    yield (entry.graph != "any" and topology.varies) and (
        f"topology: {name!r} may change at each step, and {method} builds on earlier steps "
        f"with the same neighbours; fixed topologies: "
        f"{names_of(TOPOLOGIES, lambda graph: not (graph.varies or graph.directed))}."
    )
    values = {key: getattr(spec, key) for key in topology.fields}
    topology.check_values(n, **values)
    in_pairs = spec.coupling is not None and COUPLINGS[spec.coupling].matching
    yield (in_pairs and not topology.matching(n, **values)) and (
        f"coupling: {spec.coupling!r} needs at most one neighbour of each worker in a step, "
        f"and topology {name!r} has more; topologies that can: "
        f"{names_of(TOPOLOGIES, lambda g: g.connected and g.facts['matching'] is True)}."
    )
    if entry.graph == "tree":  # n - 1 edges that connect all workers
        edges = len(topology.pairs(n, **values))
        yield not (topology.connected and edges == n - 1) and (
            f"topology: {name!r} is no tree, with {edges} edges on {n} workers, and {method} "
            f"needs one: {n - 1} edges without a cycle, such as those of chain and star."
        )
    check_connected(name, n, values)


def check_method(name: str, entry: Method) -> None:
    """Raise unless fields of a run, graphs and messages have the names that a method declares."""
    for field in (*entry.fields, *entry.fixed):
        if field not in FIELDS:
            raise unknown_field(f"field of method {name!r}", field, FIELDS)
    for number in entry.sends:
        one_of(f"sends of method {name!r}", number, NUMBERS)
    one_of(f"graph of method {name!r}", entry.graph, GRAPHS)
    one_of(f"arrivals of method {name!r}", entry.arrivals, ARRIVALS)


def draw(spec: RunSpec, labels: np.ndarray) -> Parts:
    """The samples of each worker of a run, drawn from the stream (seed, "partition").

    Held-out samples have no owner.
    """
    rule = PARTITIONS[spec.partition]
    kept = np.setdiff1d(np.arange(len(labels)), held_out(spec, len(labels)))
    with blamed(f"partition {spec.partition!r}", rule.assign):
        what = f"partition: {spec.partition!r}"

        def drawn() -> Parts:
            generator = numpy_stream(spec.seed, "partition")
            of = rule.arguments(spec)
            parts = rule.assign(labels[kept], spec.workers, **of, generator=generator)
            return checked_parts(what, parts, spec.workers, len(kept))

        parts = drawn()
        if brought(PARTITIONS, spec.partition) and parts_digest(drawn()) != parts_digest(parts):
            told = "gives other samples when it is asked again"
            raise UserError(f"{what} {told}; draw from its argument generator.")
    return [kept[part] for part in parts]


def held_out(spec: RunSpec, m: int) -> np.ndarray:
    """The held-out training samples of a run, sorted: a share ``holdout`` of all ``m``.

    They are drawn from the stream (seed, "holdout").
    """
    shuffled = numpy_stream(spec.seed, "holdout").permutation(m)
    return np.sort(shuffled[: m - spec.kept(m)])


def smallest_share(parts: Parts) -> tuple[int, int]:
    """The number of samples of the worker with the fewest, and which worker it is."""
    return min((len(part), i) for i, part in enumerate(parts))


def check_share(spec: RunSpec, share: int, worker: int | None = None) -> None:
    """Raise unless the worker with the fewest samples, ``share``, can fill a batch.

    ``worker`` is its number, where that is known. It has to have samples: no batch size would mend
    that.
    """
    if share == 0 and worker is not None:
        given = spec.beta is not None
        beta, larger = (f" with beta {spec.beta:g}", "a larger beta, ") if given else ("", "")
        raise UserError(
            f"partition: {spec.partition}{beta} leaves worker {worker} without samples; use "
            f"{larger}fewer workers, another seed, or dirichlet_min, which gives each worker at "
            f"least `smallest` samples."
        )
    whose = "a worker's" if worker is None else f"worker {worker}'s"
    if spec.short_share == NEUTRAL["short_share"] and spec.batch_size > share:
        raise UserError(
            f"batch_size: {spec.batch_size} is larger than {whose} share of {share} samples, the "
            f"least ({spec.dataset}, {spec.partition}, {spec.workers} workers, seed {spec.seed}); "
            f"it must be {share} or less, or short_share repeat (samples repeat within a batch)."
        )


def _check_smallest(spec: RunSpec, m: int) -> None:
    """``check_share`` on a data set of ``m`` samples, before their labels are known."""
    rule = PARTITIONS[spec.partition]
    if (smallest := rule.smallest_share) is None:
        return
    with blamed(f"partition {spec.partition!r}, smallest_share", smallest):
        share, worker = smallest(spec.kept(m), spec.workers, **rule.arguments(spec)), None
    if share < spec.batch_size and not rule.by_label:  # such a rule reads no labels
        share, worker = smallest_share(draw(spec, np.zeros(m, np.int64)))
    check_share(spec, share, worker)


def check_snapshots(spec: RunSpec, snapshots: Iterable[int | str], last: int) -> None:
    """Raise unless the run, whose last step is ``last``, reaches these steps."""
    told = "snapshots have a model of each worker: it must be 0"
    check(not (snapshots and spec.participants), "participants", spec.participants, told)
    told = f"measurements of snapshots count workers equally: it must be {EQUAL}"
    check(not snapshots or spec.objective == EQUAL, "objective", spec.objective, told)
    for step in snapshots:
        told = f"the last step of {spec.id} is {last}; it must be {last} or less, or {FINAL!r}"
        check(not isinstance(step, int) or step <= last, "snapshots", step, told)


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
    fields = {**fields_of(RunSpec), **DECLARED}  # as FIELDS, which takes longer
    for name in given:
        if name not in fields:
            raise unknown_field("field of a run", name, fields)
    package = {name: field.default for name, field in fields.items()}
    said = {**(defaults or {}), **given}
    stated = {**package, **said}
    if stated["method"] not in NONLINEAR and stated["coupling"] == package["coupling"]:
        stated["p"] = said.get("p", 1.0)
    own = {"dataset": source, "model": model}

    def stated_value(name: str) -> Any:
        if own.get(name) or (stated[name] is None and fields[name].optional):
            return stated[name]
        return checked(name, stated[name], fields[name])

    method = stated_value("method")
    check_method(method, entry := METHODS[method])

    @cache
    def read_by(owner: str) -> tuple[str, ...]:
        """The fields that the chosen entry of a registry reads."""
        none = own.get(owner) or (value(owner) is None and fields[owner].owners)
        read = () if none else fields[owner].names[value(owner)].fields
        if owner == "topology" and value("schedule") is not None:
            graphs = map(stated_value, SCHEDULES[value("schedule")].graphs)
            read += tuple(name for graph in graphs if graph for name in TOPOLOGIES[graph].fields)
        return read

    @cache
    def value(name: str) -> Any:
        """The value of a field, which has one if the chosen entries of its owners read it."""
        for owner in fields[name].owners or (("method",) if name in entry.fixed else ()):
            if name not in read_by(owner):
                fixed = entry.fixed.get(name)
                if name in given and given[name] != fixed:
                    chosen = owner if value(owner) else "clock" if owner in PARTS else "method"
                    raise without_effect(name, fixed, chosen, name if value(owner) else owner)
                return fixed
        return stated_value(name)

    def without_effect(name: str, fixed: object, chosen: str, read: str) -> UserError:
        field, users = fields[name], _readers(fields[chosen].names, read)
        is_fixed = "" if fixed is None else f" (it is {in_words(fixed)} there)"
        readers = "" if users == "none" else f"; {read} is read with {chosen} {users}"
        said = given[name] if field.kind is Path else checked(name, given[name], field)
        wrong = f"{name}: {said!r} has no effect with {chosen} {value(chosen)!r}"
        return UserError(f"{wrong}{is_fixed}{readers}.")

    values = {name: value(name) for name in FIELDS}
    spec = RunSpec.of({k: v for k, v in values.items() if v is not None or k not in DECLARED})
    source, model = source or DATASETS[spec.dataset], model or MODELS[spec.model]
    for mistake in _mistakes(spec, source, model, entry):
        if mistake:
            raise UserError(mistake)
    _check_smallest(spec, source.train_samples)
    return spec


def default_in_words(name: str) -> str:
    """The default of a field, for print."""
    default = str(FIELDS[name].default)
    if name != "p":
        return default
    others = f"couplings other than {default_in_words('coupling')}"
    return f"{default} with {', '.join(NONLINEAR)} and {others}; else 1"


def check_field(name: str, value: object) -> Any:
    """``value`` as the field's own type; a UserError if it is not allowed."""
    return checked(name, value, FIELDS[name])


def in_words(value: object) -> str:
    """A value of a field in a message: numbers are short, names are quoted."""
    return f"{value:g}" if isinstance(value, int | float) else repr(value)
