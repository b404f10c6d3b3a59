"""A user's mixing matrix, edge list or networkx graph as a topology."""

from __future__ import annotations

import hashlib
from typing import Any

import networkx as nx
import numpy as np
import torch

from ngo.common.registry import UserError, nearest, shown
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.numbered import numbered
from ngo.gossip.topology import TOPOLOGIES, Topology
from ngo.gossip.weights import checked_matrix

EXAMPLE = "for example topology='ring', [(0, 1), (1, 2)], networkx.cycle_graph(10) or a matrix W"

#: How far entries of a matrix may be from symmetry, and its sums from 1: the rounding of float32.
TOLERANCE = 1e-5


def own_graph(given: Any, workers: int | None) -> tuple[Topology, int, dict[str, Any]]:
    """The topology of what a user gives, its number of workers, and what ``numbered`` says of it.

    A mixing matrix is symmetric and doubly stochastic, dense or one of SciPy's sparse arrays.
    Edges are pairs of workers. Nodes of a networkx graph are workers in the order of their names
    (``ngo.gossip.numbered``); weights of edges are W_ij; weights that are all 1 are none.
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
    """A user's mixing matrix, checked; sums and symmetry are made exact to float64."""
    if hasattr(given, "tocoo"):
        return checked_matrix("own", given, given.shape[0], directed=False)
    try:
        W = torch.as_tensor(given, dtype=torch.float64).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        kind = type(given).__name__
        raise UserError(f"topology: a {kind} is no graph or matrix; {EXAMPLE}.") from None
    n, problem = len(W) if W.dim() else 0, None
    if W.dim() != 2 or W.shape[1] != n or n < 1:
        problem = f"has shape {list(W.shape)}; it must be [n, n] for n workers, {EXAMPLE}"
    elif not (W.isfinite() & (W >= 0)).all():
        problem = "has entries that are not finite numbers of 0 or more"
    elif (W - W.T).abs().max() > TOLERANCE:
        problem = "is not symmetric; for a directed graph give a networkx.DiGraph"
    elif (worst := (W.sum(1) - 1).abs()).max() > TOLERANCE:
        row = int(worst.argmax())
        problem = (
            f"is not doubly stochastic: row {row} sums to {float(W[row].sum()):.6g}, not 1; for an "
            f"adjacency matrix A give networkx.from_numpy_array(A), whose weights are made"
        )
    if problem:
        raise UserError(f"topology: the mixing matrix {problem}.")
    return _with_rest((W + W.T) / 2, dim=1)


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
