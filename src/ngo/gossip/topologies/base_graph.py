"""The Base-(k+1) graph (Takezawa et al. 2023): exact averages after few steps, for any n.

A *round* is a list of groups ``(workers, weight)``: all pairs in a group have an edge of that
weight. Rounds follow each other; after the last one, every worker has the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain, combinations, zip_longest
from math import prod

from ngo.common.fields import at_least, whole
from ngo.common.lazy import torch
from ngo.gossip.mixing_matrix import MixingMatrix, undirected_weights
from ngo.gossip.topology import topology

Round = list[tuple[Sequence[int], float]]


PEERS = {"peers": whole("neighbours of a worker in a step, at most", 1, at_least(1))}


@cache
def _rounds(n: int, k: int) -> list[Round]:
    q = n // prod(factors(n, k + 1))
    blocks = [range(start, start + q) for start in range(0, n, q)]
    inside = together([simple(list(block), k) for block in blocks])
    across = together([hypercube([block[i] for block in blocks], k) for i in range(q)])
    one = simple(list(range(n)), k)
    return min(one, [*inside, *across], key=len)


@topology(
    "base_graph",
    weighted=True,
    period=lambda n, peers: len(_rounds(n, peers)),
    matching=lambda n, peers: peers == 1,
    options=PEERS,
)
def base_graph(n: int, t: int, peers: int) -> MixingMatrix:
    """The Base-(k+1) graph (Takezawa et al. 2023): k = ``peers`` neighbours at most in each step.

    After the last round every worker has the mean. The workers are divided into blocks of equal
    size q, where n / q has only prime factors up to k + 1. First every block averages (``simple``),
    then the workers at the same place in their blocks. One block of all workers is used instead if
    that takes fewer rounds.
    """
    rounds = _rounds(n, peers)
    groups = rounds[t % len(rounds)]
    pairs = [(i, j, w) for workers, w in groups for i, j in combinations(workers, 2)]
    i, j, weights = torch.tensor(pairs, dtype=torch.float64).view(-1, 3).T
    return undirected_weights(n, i.long(), j.long(), weights)


def hypercube(workers: Sequence[int], k: int) -> list[Round]:
    """The k-peer hyper-hypercube. The number of workers has only prime factors up to k + 1.

    Workers have digits in the bases of ``factors``. In round l, workers average that differ in
    digit l only.
    """
    rounds: list[Round] = []
    stride = 1
    for base in factors(len(workers), k + 1):
        starts = [i for i in range(len(workers)) if i // stride % base == 0]
        rounds.append([(workers[i : i + stride * base : stride], 1 / base) for i in starts])
        stride *= base
    return rounds


def simple(workers: Sequence[int], k: int) -> list[Round]:
    """The simple Base-(k+1) graph: n = Σ_l a_l (k+1)^(p_l), and a block V_l for each digit a_l > 0.

    First each V_l averages. Then each worker of the smaller blocks is linked to one worker in each
    of the a_1 parts of V_1, with weight (k+1)^(p_1)/n. Now the mean of each part is the mean of
    all, and so is the mean of the smaller blocks together. Each part averages. At the same time,
    the smaller blocks continue in the same way among themselves.
    """
    blocks = _digits(workers, k + 1)
    first = together([hypercube(block, k) for block, _ in blocks])
    return [*first, *_merge(blocks, k)]


def _digits(workers: Sequence[int], base: int) -> list[tuple[Sequence[int], int]]:
    """A block for each digit that is not 0 of the number of workers, and base^(its place)."""
    blocks = []
    start, part = 0, 1
    while part * base <= len(workers):
        part *= base
    while start < len(workers):
        digit = (len(workers) - start) // part
        if digit:
            blocks.append((workers[start : start + digit * part], part))
        start += digit * part
        part //= base
    return blocks


def _merge(blocks: Sequence[tuple[Sequence[int], int]], k: int) -> list[Round]:
    """The rounds after every block has averaged."""
    (largest, size), *smaller = blocks
    if not smaller:
        return []
    others = [worker for block, _ in smaller for worker in block]
    weight = size / (len(largest) + len(others))
    parts = [largest[start : start + size] for start in range(0, len(largest), size)]
    links: Round = [((one, other), weight) for part in parts for one, other in zip(part, others)]  # noqa: B905
    rest = together([*(hypercube(part, k) for part in parts), _merge(smaller, k)])
    return [links, *rest]


def together(sequences: Sequence[list[Round]]) -> list[Round]:
    """The rounds of disjoint sets of workers, at the same time. A shorter sequence ends earlier."""
    return [list(chain(*rounds)) for rounds in zip_longest(*sequences, fillvalue=())]


def factors(n: int, largest: int) -> list[int]:
    """Factors of ``n`` up to ``largest``, the largest first, until no other divides the rest."""
    divisors = []
    for factor in range(largest, 1, -1):
        while n % factor == 0:
            divisors.append(factor)
            n //= factor
    return divisors
