"""What a topology returns, and what is refused: unknown workers, no matrix, no path between all."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from cases import cases, mistake_of, refused
from scipy.sparse import coo_array
from stepping import mixing_matrix

from ngo.common.fields import above, whole
from ngo.common.registries import COUPLINGS, DECLARED, METHODS, REGISTRIES, TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.method import FAILURES
from ngo.gossip.schedule import Mixing, ScheduledMixing
from ngo.gossip.step_parts import PARTS, going_with
from ngo.gossip.topology import check_connected, topology
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

pytestmark = pytest.mark.usefixtures("own_entries")
FIELDS = SimpleNamespace(u=0.4, hops=2)
SIZES = [*range(2, 9), 12, 16]
SEEN = SimpleNamespace(
    u=0.5, peers=1, degree=2, near=2, rewired=0.3, shifts=3, seed=0, receivers=2, clique_size=4,
    joins="every_pair",
)  # fmt: skip
DRAWS = 20
# Those of a file have tests of their own.
DRAWN = {name for name, entry in TOPOLOGIES.items() if "graph" not in entry.fields}
NAMES = sorted(DRAWN)


def own(edges):
    """The function of the topology "own", which has these edges."""
    return topology("own")(lambda n: edges)


def test_an_edge_counts_once_however_often_it_is_returned():
    """Repeated, reversed, or a self-loop: the degrees of a path on three workers are 1, 2, 1."""
    graph = own([(1, 0), (0, 1), (0, 1), (1, 2), (2, 2)])(3)
    assert TOPOLOGIES["own"].edges(3) == [(0, 1), (1, 2)]
    assert sorted(graph.edges) == [(0, 1), (1, 2)]
    assert torch.equal(Mixing("own", 3, None).at(0).dense(), mixing_matrix(nx.path_graph(3)))


@pytest.mark.parametrize("edge", [(0, 3), (-1, 0)])
def test_an_edge_to_an_unknown_worker_is_named(edge):
    graph = own([(0, 1), edge])
    message = rf"topology: 'own' has an edge \({edge[0]}, {edge[1]}\) on 3 workers; they are 0 to 2"
    for call in (TOPOLOGIES["own"].edges, graph):
        refused(message, call, 3)


def test_the_matrices_of_a_declared_period_are_made_once():
    asked = []

    @topology("pairs", period=lambda n: n - 1, matching=True)
    def pairs(n, t, u):
        asked.append(t)
        return [(0, 1 + t % (n - 1))]

    mixing = Mixing("pairs", 4, FIELDS)
    matrices = [mixing.at(t) for t in range(8)]
    assert asked == [0, 1, 2]
    assert all(matrices[t] is matrices[t % 3] for t in range(8))
    assert mixing.at(100) is matrices[1]
    entry = TOPOLOGIES["pairs"]
    assert (entry.period(9, u=0.4), entry.matching(9, u=0.4)) == (8, True)


def test_a_check_refuses_a_graph_before_it_is_made():
    def even(n, u):
        if n % 2 or u > 0.5:
            raise UserError("workers: odd.")

    topology("even", check=even)(lambda n, u: [(0, 1)])
    entry = TOPOLOGIES["even"]
    entry.check_values(4, u=0.4)
    for call in (entry.check_values, entry.edges, entry.matrix):
        refused("odd", call, 3, u=0.4)
        refused("odd", call, 4, u=0.6)


def test_a_topology_reads_fields_by_name_and_may_have_weights_of_its_own():
    hops = whole("how far edges reach", 2, above(0))

    @topology("circulant", options={"hops": hops})
    def circulant(n, u, hops):
        return [(i, (i + k) % n) for i in range(n) for k in range(1, hops + 1)] if u < 1 else []

    entry = TOPOLOGIES["circulant"]
    assert (entry.fields, entry.varies) == (("u", "hops"), False)
    assert DECLARED["hops"].owners == ("topology",)
    assert Mixing("circulant", 7, FIELDS).at(0).edges == 7 * 4
    lazy = torch.tensor([[0.8, 0.2, 0], [0.2, 0.7, 0.1], [0, 0.1, 0.9]], dtype=torch.float64)

    @topology("lazy", weighted=True)
    def path(n):
        return lazy.tolist()

    assert torch.equal(Mixing("lazy", 3, None).at(0).dense(), lazy)
    assert TOPOLOGIES["lazy"].edges(3) == [(0, 1), (1, 2)]
    assert sorted(path(3).edges) == [(0, 1), (1, 2)]


@cases(
    "matrix, reason",
    ([[0.5, 0.5]], r"has shape \[1, 2\], and not \[2, 2\]"),
    ([[0.9, 0.2], [0.2, 0.9]], "has columns that do not sum to 1; networkx.*"),
    ([[0.9, 0.2], [0.1, 0.8]], "is not symmetric; a directed topology .*"),
    ([[1.5, -0.5], [-0.5, 1.5]], "has entries that are not finite numbers of 0 or more"),
    ([[float("nan"), 0.5], [0.5, 0.5]], "has entries that are not finite numbers of 0 or more"),
    ("edges", r"is not a matrix \(.*\)"),
    ([[1], [0, 1]], r"is not a matrix \(.*\)"),
)
def test_a_matrix_of_its_own_is_checked(matrix, reason):
    topology("own", weighted=True)(lambda n: matrix)
    message = f"^topology: the mixing matrix of 'own' {reason}\\.$"
    for call in (TOPOLOGIES["own"].matrix, TOPOLOGIES["own"].edges):
        refused(message, call, 2)


def test_a_directed_topology_shares_mass_along_its_edges():
    """Worker 0 sends to 1 and 2, worker 1 to 2, worker 2 to nobody."""

    @topology("stairs", directed=True)
    def stairs(n):
        return [(0, 1), (0, 2), (1, 2), (1, 2), (2, 2)]

    entry = TOPOLOGIES["stairs"]
    assert entry.directed
    assert entry.edges(3) == [(0, 1), (0, 2), (1, 2)]
    W = Mixing("stairs", 3, None).at(0).dense()
    third = 1 / 3
    expected = [[third, 0, 0], [third, 0.5, 0], [third, 0.5, 1]]
    assert torch.allclose(W, torch.tensor(expected, dtype=torch.float64))
    graph = stairs(3)
    assert graph.is_directed()
    assert sorted(graph.edges) == [(0, 1), (0, 2), (1, 2)]


@cases("edges", None, [0, 1], [(0, 1, 2)], [("a", "b")], np.zeros((2, 2)), np.array(3))
def test_a_topology_that_returns_no_pairs_is_one_line(edges):
    own(edges)
    refused(r"^topology: 'own' does not return pairs of workers: .*", TOPOLOGIES["own"].edges, 3)


def test_edges_and_matrices_may_be_arrays():
    """Of NumPy, torch or SciPy; an entry of a sparse array that is there twice counts twice."""
    topology("numpy")(lambda n: np.array([(1, 0), (1, 2), (0, 1)]))
    topology("torch")(lambda n: torch.tensor([(1, 0), (1, 2), (0, 1)]))
    for name in ("numpy", "torch"):
        assert TOPOLOGIES[name].edges(3) == [(0, 1), (1, 2)]
    entries = [0.25, 0.25, 0.5, 0.5, 0.5], ([0, 0, 1, 0, 1], [1, 1, 0, 0, 1])
    topology("sparse", weighted=True)(lambda n: coo_array(entries, shape=(2, 2)))
    assert TOPOLOGIES["sparse"].matrix(2).dense().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    refused(r"has shape \[2, 2\], and not \[3, 3\]", TOPOLOGIES["sparse"].matrix, 3)


# Edges on four workers, and the first worker that worker 0 does not reach.
@cases("edges, missing", ([(0, 1)], 2), ([], 1), ([(0, 1), (1, 2), (0, 2)], 3))
def test_a_graph_in_pieces_is_refused_before_the_run(edges, missing):
    own(edges)
    assert mistake_of(resolve, {"topology": "own", "workers": 4}) == (
        "topology: 'own' does not connect the 4 workers: there are no paths both ways between "
        f"worker 0 and worker {missing}; if that is meant, register it with "
        "@ngo.topology('name', connected=False)."
    )


def test_a_path_is_needed_in_both_directions_in_some_graph_of_a_period():
    topology("out", directed=True)(lambda n: [(0, i) for i in range(1, n)])
    topology("in", directed=True)(lambda n: [(i, 0) for i in range(1, n)])
    topology("round", directed=True)(lambda n: [(i, (i + 1) % n) for i in range(n)])
    for name in ("out", "in"):
        refused("no paths both ways between worker 0 and worker 1;", check_connected, name, 4, {})
    check_connected("round", 4, {})

    def pairs(n, t):
        return [(0, 1), (2, 3)] if t % 2 else [(1, 2)]

    topology("in_turn", period=2)(pairs)
    check_connected("in_turn", 4, {})
    topology("repeating", period=2)(lambda n, t: pairs(n, 1))
    refused("between worker 0 and worker 2; if that", check_connected, "repeating", 4, {})
    topology("islands", connected=False)(lambda n: [(0, 1), (2, 3)])
    check_connected("islands", 4, {})


# What every registered topology promises, at several numbers of workers.


def values_of(name):
    return {key: getattr(SEEN, key) for key in TOPOLOGIES[name].fields}


def facts(name, n):
    """The period, and whether it is of matchings."""
    return tuple(getattr(TOPOLOGIES[name], k)(n, **values_of(name)) for k in ("period", "matching"))


def courses(name):
    """For each possible n: n, its facts, and the matrices of two periods, or of ``DRAWS`` steps."""
    entry = TOPOLOGIES[name]
    for n in SIZES:
        try:
            entry.check_values(n, **values_of(name))
            mixing = Mixing(name, n, SEEN, torch_stream(0, "graphs"))
        except UserError:
            continue
        steps = range(2 * (facts(name, n)[0] or DRAWS))
        yield n, facts(name, n), [mixing.at(t).dense() for t in steps]


@pytest.mark.parametrize("name", NAMES)
def test_matrices_are_doubly_stochastic_connect_all_in_time_and_repeat_as_declared(name):
    """Computed in each step, without the memory of ``Mixing``."""
    entry = TOPOLOGIES[name]
    for n, (period, matching), matrices in courses(name):
        for W in matrices:
            assert W.dtype == torch.float64
            assert (W >= 0).all()
            assert (W.sum(0) - 1).abs().max() < 1e-12
            if name != "epidemic_out":  # in which a worker receives from any number of others
                assert (W.sum(1) - 1).abs().max() < 1e-12
            assert entry.directed or torch.allclose(W, W.T, rtol=0, atol=1e-15)
        union = nx.from_numpy_array(sum(matrices).numpy(), create_using=nx.DiGraph)
        assert not entry.connected or nx.is_strongly_connected(union), n
        neighbours = [((W + W.T).fill_diagonal_(0) != 0).sum(1).max() for W in matrices]
        assert (max(neighbours) <= 1) == matching, n
        if period is None:
            complete = (matrices[0] != 0).all()
            assert not all(torch.equal(W, matrices[0]) for W in matrices) or n == 2 or complete
            continue
        again = [entry.matrix(n, t=t, **values_of(name)).dense() for t in range(2 * period)]
        assert all(torch.equal(a, b) for a, b in zip(again, matrices, strict=True))
        assert all(torch.equal(a, b) for a, b in zip(again, again[period:], strict=False))
        if n > 3:
            shifted = [again[k:] + again[:k] for k in range(1, period)]
            assert not any(all(map(torch.equal, again, other)) for other in shifted)


@pytest.mark.parametrize("name", NAMES)
def test_one_worker_keeps_what_it_has(name):
    entry, values = TOPOLOGIES[name], values_of(name)
    try:
        entry.check_values(1, **values)
    except UserError:  # no such graph
        return
    W = entry.matrix(1, t=3, generator=torch_stream(0, "graphs"), **values).dense()
    assert W.dtype == torch.float64
    assert W.tolist() == [[1.0]]
    assert entry.edges(1, t=3, generator=torch_stream(0, "graphs"), **values) == []
    assert facts(name, 1)[0] in (1, None)
    assert torch.equal(Mixing(name, 1, SEEN, torch_stream(0, "graphs")).at(3).dense(), W)


# The table of parts says what resolving a run decides.


def possible(**values):
    """Whether a run may have these values."""
    try:
        resolve({"workers": 16, **values})
    except UserError:
        return False
    return True


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_parts_that_go_with_a_method_are_those_of_possible_runs(method):
    entry = METHODS[method]
    names = {kind: going_with(method, kind) for kind in PARTS if kind != "method"}
    graph = {"any": "random_matching", "fixed": "ring", "tree": "chain"}[entry.graph]
    undirected = {"topology": graph} if entry.decentralized else {}
    asked = {"method": method}
    if entry.arrivals == "pair":
        asked["clock"] = "asynchronous"
    for kind in ("local_rule", "coupling", "compression", "attack"):
        if kind == "attack" and "clock" in asked:
            continue
        for name in REGISTRIES[kind]:
            if kind == "coupling" and COUPLINGS[name].matching and entry.graph != "any":
                continue  # a fixed graph is no matching, beyond two workers
            assert possible(**asked, **{kind: name}, **undirected) == (name in names[kind]), name
    found_possible = {name for name in DRAWN if possible(**asked, topology=name)}
    if entry.graph == "tree":
        assert found_possible == {"chain", "star"}
    else:
        assert found_possible == set(names["topology"]) & DRAWN
    for name in FAILURES:
        assert possible(**asked, **{name: 0.1}, **undirected) == entry.bears_failures


@cases(
    "define, facts, told",
    (lambda n: np.random.permutation(n).reshape(-1, 2), {}, "other edges when it is asked again"),
    (lambda n: [(0, i) for i in range(1, n)], {"matching": True}, "says that it is a matching"),
    (lambda n, t: [(0, 1 + t % (n - 1))], {"period": 2}, "other edges after its period of 2"),
    (lambda n: [(0.5, 1)], {}, "does not return pairs of workers: 0.5 is not a whole number"),
)
def test_a_topology_that_is_another_than_it_says_is_refused(define, facts, told):
    """A run that was resumed, or trained after another one, had other graphs."""
    topology("own", connected=False, **facts)(define)
    run = SimpleNamespace(topology="own", workers=16, weights="metropolis")
    refused(f"topology: 'own'.* {told}", ScheduledMixing, run, 4, torch.Generator())
