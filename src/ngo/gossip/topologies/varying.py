"""Graphs that change from step to step."""

from __future__ import annotations

import math

from ngo.common.fields import at_least, whole
from ngo.common.lazy import Tensor, np, nx, torch
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.topologies.static import DEGREE, check_degree, digits, dimension
from ngo.gossip.topology import DRAWN_IN_FULL, Edges, topology
from verdicts.registry import check


@topology("random")
def random_graph(n: int, u: float, generator: torch.Generator) -> np.ndarray:
    """A new Erdős–Rényi graph G(n, ``u``) in each step.

    Each of the n(n−1)/2 edges exists with probability ``u``, independently. Source: the paper's Eq.
    (aijp). A worker may have no edge. With more than 256 workers, the edges themselves are drawn
    instead of a number for each pair.
    """
    pairs = n * (n - 1) // 2
    if n <= DRAWN_IN_FULL:
        drawn = torch.rand(pairs, generator=generator, dtype=torch.float64).numpy() < u
        numbers = drawn.nonzero()[0]
    else:
        numbers = _successes(pairs, u, generator).numpy()
    # Pair number k is (i, j) in the order (0, 1), (0, 2), …; those of i begin at number firsts[i].
    rows = np.arange(n)
    firsts = rows * (2 * n - rows - 1) // 2
    i = firsts.searchsorted(numbers, "right") - 1
    return np.stack([i, numbers - (firsts - rows - 1)[i]], 1)


def _successes(trials: int, u: float, generator: torch.Generator) -> Tensor:
    """The numbers of the trials that succeed, each with probability ``u`` (Batagelj and Brandes
    2005).

    The failures before each success are drawn from the geometric distribution, so that the time is
    in proportion to the successes.
    """
    successes = torch.full((1,), -1)
    while successes[-1] < trials:
        left = (trials - int(successes[-1])) * u
        draws = torch.rand(int(left + 4 * left**0.5) + 8, generator=generator, dtype=torch.float64)
        failures = (torch.log1p(-draws) / math.log1p(-u)).clamp(max=trials) if u < 1 else 0 * draws
        successes = torch.cat([successes, successes[-1] + (failures.long() + 1).cumsum(0)])
    return successes[1:][successes[1:] < trials]


@topology("random_matching", matching=True)
def random_matching(n: int, generator: torch.Generator) -> Tensor:
    """A new random matching in each step; for odd n, one worker has no neighbour."""
    return torch.randperm(n, generator=generator)[: n - n % 2].view(-1, 2)


@topology("alternating_matching", period=lambda n: 3 if n % 2 else 2, matching=True)
def alternating_matching(n: int, t: int) -> Edges:
    """The ring's edges as matchings, in turn: (0, 1), (2, 3), …, then (1, 2), (3, 4), ….

    For odd n, a third step has the edge (n − 1, 0) alone.
    """
    if n % 2 and t % 3 == 2:
        return [(n - 1, 0)]
    first = t % (3 if n % 2 else 2)
    return [(i, (i + 1) % n) for i in range(first, n - n % 2, 2)]


@topology("one_peer_exponential", directed=True, weighted=True, period=digits)
def one_peer_exponential(n: int, t: int) -> MixingMatrix:
    """The one-peer exponential graph (Ying et al. 2021): from i to i + 1, i + 2, i + 4, … in turn.

    W_ij = 1/2 for j = i and for j = i − 2^(t mod ⌈log₂ n⌉), on a circle. For n = 2^k, the product
    of k successive matrices is the mean.
    """
    workers, half = torch.arange(n), torch.full((n,), 0.5)
    return MixingMatrix(n, workers, (workers - 2 ** (t % digits(n))) % n, half, half)


@topology("one_peer_hypercube", period=dimension, matching=True, check=dimension)
def one_peer_hypercube(n: int, t: int) -> Edges:
    """The one-peer hypercube (Shi et al. 2016): the hypercube's edges as matchings, in turn.

    For n = 2^k, the pairs whose numbers differ in binary digit t mod k.
    """
    digit = 1 << t % dimension(n)
    return [(i, i | digit) for i in range(n) if not i & digit]


RECEIVERS = {"receivers": whole("workers to which each worker sends, s", 4, at_least(1))}


def check_receivers(n: int, receivers: int) -> None:
    """A UserError unless a worker has so many others to send to."""
    check(receivers < n, "receivers", receivers, f"of {n} workers, it must be {n - 1} or less")


@topology("epidemic_out", directed=True, options=RECEIVERS, check=check_receivers)
def epidemic_out(n: int, receivers: int, generator: torch.Generator) -> Tensor:
    """In each step each worker sends to s random others (EL-Local; de Vos et al. 2023).

    All sets of s = ``receivers`` others are equally likely, and independent.
    """
    # By Floyd's algorithm for all workers at once: the k-th draw is one of the first so many, and
    # the last of them if the draw is already taken.
    others = torch.full((n, receivers), n)
    for k, last in enumerate(range(n - 1 - receivers, n - 1)):
        drawn = torch.randint(last + 1, (n, 1), generator=generator)
        taken = (others == drawn).any(1)
        others[:, k] = torch.where(taken, last, drawn[:, 0])
    workers = torch.arange(n)[:, None]
    others += others >= workers  # others are numbered without the worker itself
    return torch.stack([workers.expand_as(others).flatten(), others.flatten()], 1)


@topology(
    "epidemic_regular",
    options=DEGREE,
    check=lambda n, degree: check_degree(n, degree, 1),
    matching=lambda n, degree: degree == 1,
)
def epidemic_regular(n: int, degree: int, generator: torch.Generator) -> Edges:
    """A random regular graph in each step (EL-Oracle; de Vos et al. 2023).

    It need not connect all workers. With a ``degree`` of 1 it is a random matching.
    """
    seed = int(torch.randint(2**31, (), generator=generator))
    return list(nx.random_regular_graph(degree, n, seed).edges)
