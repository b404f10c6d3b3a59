"""The arguments of ``fit`` that are checked, and turned into fields of a run."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from typing import Any

import networkx as nx
import numpy as np
import torch

from ngo.common.devices import chosen, usable
from ngo.common.former import FORMER, renamed
from ngo.common.registry import Registry, UserError, meant, nearest, shown, unknown
from ngo.data.partition import PARTITIONS, Parts, Rule, parts_digest
from ngo.gossip.method import METHODS
from ngo.gossip.mixing_matrix import MixingMatrix, checked_matrix
from ngo.gossip.schedule import topologies
from ngo.gossip.topologies.graph_file import file_nodes, numbered
from ngo.gossip.topology import TOPOLOGIES, Topology
from ngo.training.own import by_worker, own_parts
from ngo.training.spec import FIELDS, RunSpec

EXAMPLE = "for example topology='ring', [(0, 1), (1, 2)], networkx.cycle_graph(10) or a matrix W"

#: How far entries of a matrix may be from symmetry, and its sums from 1: the rounding of float32.
TOLERANCE = 1e-5


def own_graph(given: Any, workers: int | None) -> tuple[Topology, int, dict[str, Any]]:
    """The topology of what a user gives, its number of workers, and what ``numbered`` says of it.

    A mixing matrix is symmetric and doubly stochastic, dense or one of SciPy's sparse arrays.
    Edges are pairs of workers. Nodes of a networkx graph are workers in the order of their names
    (``graph_file``); weights of edges are W_ij; weights that are all 1 are none.
    ``workers`` is the number that the user gives, if any. Raises a one-line UserError.
    """
    directed = weighted = False
    about: dict[str, Any] = {}
    if isinstance(given, nx.Graph):
        n, directed = len(given), given.is_directed()
        graph = numbered(given, "topology: the graph")
        about = graph.graph
        content: Any = sorted(graph.edges())
        weighted = any(w is not None for _, _, w in graph.edges.data("weight"))
        if weighted:
            content = _weights(graph)
    elif (pairs := _pairs(given)) is not None:
        content, n = pairs, workers or 1 + max(max(pair) for pair in pairs)
    elif callable(given):
        raise UserError(
            f"topology: {shown(given)} is a function; register it with @ngo.topology('name') and "
            f"give the name, {EXAMPLE}."
        )
    else:
        content = _matrix(given)
        n, weighted = content.n, True
    if workers is not None and workers != n:
        raise UserError(f"workers: {workers} is not the number of workers in topology, {n}.")
    data = content.dense().numpy().tobytes() if weighted else repr(content).encode()
    name = f"own-{hashlib.sha256(data + bytes([directed])).hexdigest()[:8]}"
    matching = weighted and bool((content.starts.diff() <= 1).all())
    facts = {"period": 1, "exact": False, "matching": matching, "density": 0.0}
    return Topology(name, lambda n: content, directed, weighted, (), facts), n, about


def check_name(name: str) -> None:
    """Raise a UserError, with an example, for a name that no topology has."""
    if name not in TOPOLOGIES:
        raise UserError(
            f"topology: {shown(name)} is unknown; allowed: {', '.join(sorted(TOPOLOGIES))}; or a "
            f"graph, {EXAMPLE}.{nearest(name, TOPOLOGIES)}"
        )


def _pairs(given: Any) -> list[tuple[int, int]] | None:
    """A list of pairs, or a whole-number array ``[e, 2]``, as edges; None for anything else."""
    if isinstance(given, np.ndarray | torch.Tensor):
        values = np.asarray(given)
        if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iu":
            return None
        given = values.tolist()
    if not isinstance(given, list | tuple | set) or not given:
        return None
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in given):
        return None
    if not all(isinstance(i, int | np.integer) and i >= 0 for pair in given for i in pair):
        return None
    return sorted((int(i), int(j)) for i, j in given)


def _matrix(given: Any) -> MixingMatrix:
    """A user's mixing matrix, checked; sums and symmetry of a dense one are made exact."""
    sparse = hasattr(given, "tocoo")
    try:
        W = given if sparse else torch.as_tensor(given, dtype=torch.float64).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        kind = type(given).__name__
        raise UserError(f"topology: a {kind} is no graph or matrix; {EXAMPLE}.") from None
    n, exact = W.shape[0] if W.ndim else 0, {} if sparse else {"tolerance": TOLERANCE}
    checked = checked_matrix("own", W, n, directed=False, **exact)
    return checked if sparse else _with_rest((W + W.T) / 2, dim=1)


def _weights(graph: nx.Graph) -> MixingMatrix:
    """The mixing matrix of a graph with weights, with the rest to 1 on the diagonal."""
    for i, j, w in graph.edges.data("weight"):
        try:
            graph.edges[i, j]["weight"] = float(w)
        except (TypeError, ValueError):
            ends = ", ".join(shown(graph.graph["names"][k]) for k in (i, j))
            raise UserError(
                f"topology: the edge ({ends}) has the weight {shown(w)}; if any edge has a weight, "
                f"every edge must, a number."
            ) from None
    W = torch.from_numpy(nx.to_numpy_array(graph, nodelist=range(len(graph)))).T.contiguous()
    sums = W.sum(0) - W.diagonal()
    if not (W.isfinite() & (W >= 0)).all() or sums.max() > 1 + TOLERANCE:
        raise UserError(
            f"topology: weights of the graph's edges are the entries W_ij of the mixing matrix; "
            f"they must be 0 or more, with a sum of at most 1 at a worker (here {sums.max():.6g}); "
            f"without weights, edges get Metropolis–Hastings weights."
        )
    return _with_rest(W, dim=0)


def _with_rest(W: torch.Tensor, dim: int) -> MixingMatrix:
    """The matrix of the weights of edges, with the rest to 1 of the sums on the diagonal."""
    W = W - torch.diag(W.diagonal())
    return MixingMatrix.of(W + torch.diag((1 - W.sum(dim)).clamp(min=0)))


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
