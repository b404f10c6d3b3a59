"""The cost of a consensus step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ngo.bench.costs import Bench, Target
from ngo.bench.training_step import GAMMA, P
from ngo.bench.turns import Step, Turns, synchronize, turns

if TYPE_CHECKING:
    import torch

# (topology, workers, parameters); the parameters are those of MNIST's CNN and of ResNet-18.
GOSSIP_CASES = (
    ("ring", 10, 21_840),
    ("random", 10, 21_840),
    ("complete", 10, 21_840),
    ("ring", 64, 21_840),
    ("complete", 64, 21_840),
    ("ring", 10, 11_279_112),
)
COPY, PRODUCT, LINEAR, NAIVE, NONLINEAR = "copy", "matrix product", "linear", "naive", "nonlinear"
WAYS = (COPY, PRODUCT, LINEAR, NAIVE, NONLINEAR)


def gossip(
    cases: Sequence[tuple[str, int, int]] = GOSSIP_CASES, device: str = "cpu", repeats: int = 5
) -> Iterator[Bench]:
    """Linear and nonlinear consensus steps, a copy of the state, and the naive form of the step.

    Each case is yielded when it is measured.
    """
    for topology, n, d in cases:
        case = {"topology": topology, "n": n, "d": d, "device": device}
        name = f"{topology}, n = {n}, d = {d}"
        ways = {way: partial(consensus, way, **case) for way in WAYS}
        taken = turns(ways, repeats, name, device=device)
        rows = [
            {
                **case,
                "way": way,
                "ms": taken.seconds(way) * 1e3,
                "of_a_copy": taken.ratio(way, COPY),
                "faster_than_naive": taken.ratio(NAIVE, way),
            }
            for way in WAYS
        ]
        yield Bench(rows, _targets(taken, name, **case))


def consensus(way: str, *, topology: str, n: int, d: int, device: str) -> Step:
    """The work of one of WAYS, on a random state."""
    import torch

    from ngo.common.seeding import torch_stream
    from ngo.gossip.gossip_step import gossip_step
    from ngo.gossip.topology import TOPOLOGIES
    from ngo.native import pool

    torch.set_num_threads(1)
    X = 0.05 * torch.randn(n, d, generator=torch_stream(0, "bench"))
    X, other = X.to(device), torch.empty_like(X, device=device)
    W = TOPOLOGIES[topology].matrix(n, u=0.4, generator=torch_stream(0, "graphs"))
    product = torch.eye(n, dtype=X.dtype, device=device)
    spread = pool.threads() if device == "cpu" else pool.in_order
    edges = zip(W.receivers.tolist(), W.senders.tolist(), strict=True)
    weights = dict(zip(edges, W.weights.tolist(), strict=True))

    work = {
        COPY: lambda: other.copy_(X),
        PRODUCT: lambda: torch.mm(product, X, out=other),
        LINEAR: lambda: gossip_step(X, W, GAMMA, 1, out=other, spread=spread),
        NAIVE: lambda: naive_step(X, weights),
        NONLINEAR: lambda: gossip_step(X, W, GAMMA, P, out=other, spread=spread),
    }[way]

    def step() -> float:
        work()
        synchronize(device)
        return 0.0

    return step


def naive_step(X: torch.Tensor, weights: dict[tuple[int, int], float]) -> torch.Tensor:
    """The step's equation, term by term; ``weights`` are those of the directed edges."""
    new = X.clone()
    for (i, j), weight in weights.items():
        z = X[j] - X[i]
        new[i] += GAMMA * weight * z.sign() * z.abs() ** (2 * P - 1)
    return new


def _targets(
    taken: Turns, name: str, *, topology: str, n: int, d: int, device: str
) -> list[Target]:
    if device == "cpu":
        targets = [Target(f"{name}: linear of a matrix product's", taken.ratio(LINEAR, PRODUCT), 2)]
        if topology == "complete":
            faster = taken.ratio(NAIVE, NONLINEAR)
            targets.append(Target(f"{name}: faster than naive", faster, 4, at_least=True))
        return targets
    if topology == "ring" and d > 10**6:
        bandwidth = taken.ratio(COPY, NONLINEAR)
        return [Target(f"{name}: of a copy's speed", bandwidth, 0.6, at_least=True)]
    return []
