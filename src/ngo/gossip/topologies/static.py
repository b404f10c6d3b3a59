"""Graphs that stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import isqrt

from ngo.common.fields import at_least, choice, number, whole, within
from ngo.common.lazy import np, nx
from ngo.common.seeding import numpy_stream
from ngo.gossip.topology import DRAWN_IN_FULL, Edges, topology
from verdicts.registry import Registry, UserError, check


@topology("ring")
def ring(n: int) -> Edges:
    """A circle of workers: each has two neighbours (one, for n = 2)."""
    return [(i, i + 1) for i in range(n - 1)] + [(0, n - 1)] * (n > 2)


@topology("directed_ring", directed=True)
def directed_ring(n: int) -> Edges:
    """Worker i sends to i + 1, and the last one to worker 0."""
    return [(i, (i + 1) % n) for i in range(n)]


@topology("chain")
def chain(n: int) -> Edges:
    """A line of workers: the ring without the edge between its ends."""
    return [(i, i + 1) for i in range(n - 1)]


@topology("star")
def star(n: int) -> Edges:
    """Worker 0 is the only neighbour of all others."""
    return [(0, i) for i in range(1, n)]


@topology("empty", matching=True, connected=False)
def empty(n: int) -> Edges:
    """No pair of workers is connected: each trains alone, and nothing is sent."""
    return []


@topology("complete")
def complete(n: int) -> np.ndarray:
    """Every pair of workers is connected."""
    return np.stack(np.triu_indices(n, 1), 1)


def rows(n: int) -> int:
    """The largest divisor of n up to its root; a UserError for a prime n."""
    largest = next(r for r in range(isqrt(n), 0, -1) if n % r == 0)
    told = f"a torus has rows and columns; {max(n + 1, 4)} is possible"
    check(largest > 1, "workers", n, told)
    return largest


@topology("torus", check=rows)
def torus(n: int) -> Edges:
    """A grid whose opposite borders are joined: four neighbours each, from three rows on.

    With two rows a worker has three neighbours, and with n = 4 two. Rows × columns = n, as close to
    a square as possible. Worker i is in row i // columns.
    """
    columns = n // rows(n)
    right = [(i, i - i % columns + (i + 1) % columns) for i in range(n)]
    return right + [(i, (i + columns) % n) for i in range(n)]


def dimension(n: int) -> int:
    """log₂ n; a UserError if it is not a whole number."""
    below = 1 << (n.bit_length() - 1)
    told = f"a hypercube needs a power of 2; {below} and {2 * below} are possible"
    check(n == below, "workers", n, told)
    return n.bit_length() - 1


@topology("hypercube", check=dimension)
def hypercube(n: int) -> Edges:
    """Workers whose numbers differ in one binary digit are neighbours; n is a power of 2."""
    return [(i, i ^ 1 << k) for k in range(dimension(n)) for i in range(n)]


def digits(n: int) -> int:
    """⌈log₂ n⌉: how many distances 1, 2, 4, … are below n ≥ 2."""
    return (n - 1).bit_length()


@topology("directed_exponential", directed=True)
def directed_exponential(n: int) -> Edges:
    """The exponential graph (Ying et al. 2021): edges from i to i + 1, i + 2, i + 4, … on a circle.

    Each worker sends to ⌈log₂ n⌉ others. All weights are 1/(⌈log₂ n⌉ + 1). The gap of even n is
    2/(⌈log₂ n⌉ + 1).
    """
    return [(i, (i + 2**k) % n) for k in range(digits(n)) for i in range(n)]


@topology("exponential")
def exponential(n: int) -> Edges:
    """The exponential graph without directions: edges between i and i + 1, i + 2, i + 4, ….

    Workers are on a circle, and each has 2 ⌈log₂ n⌉ neighbours at most.
    """
    return [(i, (i + 2**k) % n) for k in range(digits(n)) for i in range(n)]


DRAWS = 1000


def connected(name: str, seed: int, draw: Callable[[object], nx.Graph]) -> Edges:
    """The edges of the first connected graph; a UserError if ``DRAWS`` draws give none."""
    source = numpy_stream(seed, "graph")
    for _ in range(DRAWS):
        graph = draw(source)
        if nx.is_connected(graph):
            return list(graph.edges)
    fault = f"none of {DRAWS} draws of {name!r} is connected"
    raise UserError(f"topology: {fault}; it needs more edges.")


@topology("erdos_renyi")
def erdos_renyi(n: int, u: float, seed: int) -> Edges:
    """A connected Erdős–Rényi graph G(n, ``u``), drawn once for the run."""
    # The second has a draw for each pair, the first for each edge (Batagelj and Brandes 2005).
    graph = nx.fast_gnp_random_graph if n > DRAWN_IN_FULL else nx.gnp_random_graph
    return connected("erdos_renyi", seed, lambda draw: graph(n, u, seed=draw))


DEGREE = {"degree": whole("neighbours of each worker", 4, at_least(1))}


def check_degree(n: int, degree: int, least: int = 2) -> None:
    """A UserError unless n > 2 workers have a regular graph of this degree, ``least`` or more."""
    right = degree < n and n * degree % 2 == 0 and (degree >= least or n == 2)
    parity = f"{least} or more for more than 2 workers, and even for an odd number of them"
    check(right, "degree", degree, f"of {n} workers, it must be below {n}, {parity}")


@topology("random_regular", options=DEGREE, check=lambda n, degree: check_degree(n, degree))
def random_regular(n: int, degree: int, seed: int) -> Edges:
    """A connected random graph of the given ``degree``, drawn once for the run."""
    return connected("random_regular", seed, lambda draw: nx.random_regular_graph(degree, n, draw))


SMALL_WORLD = {
    "near": whole("neighbours of each worker on the ring before rewiring, even", 4, at_least(2)),
    "rewired": number("probability that an edge is rewired", 0.2, within(0, 1)),
}


def _near(n: int, near: int) -> None:
    """A UserError unless each of n workers can have ``near`` neighbours, half on each side."""
    told = f"of {n} workers, it must be even and below {n}"
    check(near % 2 == 0 and near < n, "near", near, told)


@topology("small_world", options=SMALL_WORLD, check=_near)
def small_world(n: int, near: int, rewired: float, seed: int) -> Edges:
    """A small world (Watts and Strogatz 1998): edges to near workers on a ring, some rewired.

    Before rewiring, each worker has ``near`` neighbours. The graph is connected, and drawn once for
    the run.
    """
    return connected(
        "small_world", seed, lambda draw: nx.watts_strogatz_graph(n, near, rewired, draw)
    )


#: Which of m cliques are joined, as pairs.
JOINS: Registry[Callable[[int], list[tuple[int, int]]]] = Registry("joins")


def every_pair(m: int) -> list[tuple[int, int]]:
    """Every clique with every other."""
    return list(combinations(range(m), 2))


def in_a_ring(m: int) -> list[tuple[int, int]]:
    """Each clique with the next."""
    return [(a, (a + 1) % m) for a in range(m if m > 2 else m - 1)]


for joins in (every_pair, in_a_ring):
    JOINS.add(joins.__name__, joins, joins)

CLIQUES = {
    "clique_size": whole("workers in a clique", 10, at_least(1)),
    "joins": choice("which cliques are joined", "every_pair", JOINS),
}


@topology("d_cliques", options=CLIQUES)
def d_cliques(n: int, clique_size: int, joins: str) -> Edges:
    """D-Cliques (Bellet et al. 2022): complete graphs, joined by single edges.

    A clique has ``clique_size`` consecutive workers, the last one perhaps fewer. Two cliques are
    joined by one edge; its end in each is the worker with the fewest edges to other cliques so far.
    With the partition ``cliques``, the workers of a clique together have all labels, about.
    """
    cliques = [range(i, min(i + clique_size, n)) for i in range(0, n, clique_size)]
    edges = [edge for clique in cliques for edge in combinations(clique, 2)]
    joined = [0] * n
    for a, b in JOINS[joins](len(cliques)):
        i, j = (min(cliques[k], key=joined.__getitem__) for k in (a, b))
        joined[i] += 1
        joined[j] += 1
        edges.append((i, j))
    return edges
