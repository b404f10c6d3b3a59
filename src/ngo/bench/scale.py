"""What a training step costs with more and more workers: its consensus, its graph, its set-up."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ngo.bench.costs import Bench, Target
from ngo.bench.training_step import GAMMA, make_spec, random_problem, training_step
from ngo.bench.turns import Step, Turns, turns
from ngo.models.model import Model

if TYPE_CHECKING:
    import torch
    from torch import nn


SIZES = (4, 16, 64, 256, 1024, 4096, 10_000)
MOST = SIZES[-1]

# Fields of a run, by the name of the way.
METHODS: dict[str, dict[str, Any]] = {
    "ngo, ring": {"topology": "ring"},
    "dsgd, ring": {"method": "dsgd", "topology": "ring"},
    "push_sum, one_peer_exponential": {"method": "push_sum", "topology": "one_peer_exponential"},
    "gradient_tracking, ring": {"method": "gradient_tracking", "topology": "ring"},
}

# Further ways with the most workers.
ON_TORUS = {
    "ngo, torus": {"topology": "torus"},
    "dsgd, torus": {"method": "dsgd", "topology": "torus"},
}

# The sizes of MNIST's CNN. A step of the last takes at most PROPORTION times as long for a worker
# as one of the last but one.
CNN_SIZES = (4, 10, 100, 1000)
PROPORTION = 1.2

# Limits with the most workers: the consensus' share in a step, the time of another coupling
# relative to the power coupling's on the same graph, and the seconds of the set-up.
SHARE, COUPLING, SET_UP = 0.05, 2, 2

# The workers of each graph whose matrices are made, their mean number of neighbours in a random
# graph, and the limit of the time of the next matrix in milliseconds.
GRAPH_WORKERS, NEIGHBOURS, NEXT_MS = 4096, 10, 20

# Couplings, each with a graph for it.
OTHERS = {"capped": "ring", "implicit": "alternating_matching"}


def small(generator: torch.Generator) -> nn.Module:
    """A network with 100 parameters: 4 → 6 → 10."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 10))


SMALL = Model(small, input_shape=(1, 2, 2), task="classification")


def scale(repeats: int = 3, sizes: Sequence[int] = SIZES) -> Iterator[Bench]:
    """Steps of the small network with four methods, by the number of workers."""
    for n in sizes:
        yield steps("d = 100", SMALL, n, 8, METHODS | (ON_TORUS if n == MOST else {}), repeats)


def steps(
    name: str, model: str | Model, n: int, b: int, methods: dict[str, Any], repeats: int
) -> Bench:
    """Steps of n workers with some methods, and the share of consensus in them."""
    case = {"model": model, "n": n, "b": b, "device": "cpu"}
    ways = {
        way: partial(training_step, "auto", **fields, **case) for way, fields in methods.items()
    }
    taken = turns(ways, repeats, f"{name}, n = {n}")
    rows = [_row(name, n, b, way, taken, way) for way in ways]
    targets = [
        Target(f"{name}, n = {n}: {way}, share of consensus", taken.share(way), SHARE)
        for way in ways
        if n == MOST and way.startswith(("ngo", "dsgd"))
    ]
    return Bench(rows, targets)


def convolutions(repeats: int = 3, sizes: Sequence[int] = CNN_SIZES) -> Bench:
    """Steps of MNIST's CNN by the number of workers, which take turns: are they in proportion?"""
    name, b = "mnist_cnn", 32
    ways = {
        str(n): partial(training_step, "auto", "ring", model=name, n=n, b=b, device="cpu")
        for n in sizes
    }
    taken = turns(ways, repeats, f"{name}, by n")
    rows = [_row(name, n, b, "ngo, ring", taken, str(n)) for n in sizes]
    few, many = sizes[-2:]
    label = f"{name}: a worker's step with n = {many}, of one with n = {few}"
    ratio = taken.ratio(str(many), str(few)) * few / many
    return Bench(rows, [Target(label, ratio, PROPORTION)])


def _row(network: str, n: int, b: int, way: str, taken: Turns, key: str) -> dict[str, Any]:
    whole, share = taken.seconds(key) * 1e3, taken.share(key)
    return {
        "network": network,
        "n": n,
        "b": b,
        "way": way,
        "ms": whole,
        "consensus_ms": whole * share,
        "consensus_share": share,
    }


def couplings(repeats: int = 3, n: int = MOST, d: int = 100) -> Bench:
    """The consensus steps of other couplings, relative to the power coupling's on their graph."""
    pairs = [(each, graph) for own, graph in OTHERS.items() for each in ("power", own)]
    ways = {f"{name}, {graph}": partial(pull, name, graph, n, d) for name, graph in pairs}
    taken = turns(ways, repeats, f"couplings, n = {n}")
    rows = [{"coupling": way, "n": n, "d": d, "ms": taken.seconds(way) * 1e3} for way in ways]
    targets = [
        Target(
            f"n = {n}: {name}, of the power coupling's",
            taken.ratio(f"{name}, {graph}", f"power, {graph}"),
            COUPLING,
        )
        for name, graph in OTHERS.items()
    ]
    return Bench(rows, targets)


def pull(name: str, topology: str, n: int, d: int) -> Step:
    """The consensus step of a coupling, in place, on random rows."""
    import torch

    from ngo.common.seeding import torch_stream
    from ngo.gossip.coupling import COUPLINGS
    from ngo.gossip.topology import TOPOLOGIES
    from ngo.native import pool

    torch.set_num_threads(1)
    X = torch.randn(n, d, generator=torch_stream(0, "bench"))
    W = TOPOLOGIES[topology].matrix(n, t=0)
    run: Any = make_spec(SMALL, n, 8, topology=topology, coupling=name)
    spread = pool.threads()

    def step() -> float:
        COUPLINGS[name].step(X, W, GAMMA, run, out=X, spread=spread)
        return 0.0

    return step


def set_up(repeats: int = 3, n: int = MOST) -> Bench:
    """The time from a data set in memory to the first step, with the small network."""
    way = "set-up"
    taken = turns({way: partial(prepared, n)}, repeats, f"set-up, n = {n}", least=0)
    seconds = taken.seconds(way)
    label = f"d = 100, n = {n}: seconds of the set-up"
    return Bench(
        [{"network": "d = 100", "n": n, "way": way, "seconds": seconds}],
        [Target(label, seconds, SET_UP)],
    )


def prepared(n: int) -> Step:
    """The set-up of a run on a ring: checks, partition, graph, workers."""
    import torch

    from ngo.training.stepper import Stepper

    torch.set_num_threads(1)

    def step() -> float:
        spec = make_spec(SMALL, n, 8, topology="ring")
        Stepper(spec, random_problem(spec, SMALL), steps=1)
        return 0.0

    return step


def graphs(n: int = GRAPH_WORKERS, repeats: int = 5) -> Bench:
    """The time of a run's first mixing matrix, and of the next ones, for each registered graph.

    A graph that does not vary has one matrix. Files of graphs are left out.
    """
    from types import SimpleNamespace

    from ngo.common.seeding import torch_stream
    from ngo.gossip.topology import TOPOLOGIES, Mixing
    from ngo.training.spec import DEFAULTS

    fields = SimpleNamespace(**{**DEFAULTS, "u": NEIGHBOURS / n})
    rows, targets = [], []
    for name, entry in TOPOLOGIES.items():
        if "graph" in entry.fields:
            continue
        times = []
        start = time.perf_counter()
        mixing = Mixing(name, n, fields, torch_stream(0, "graphs"))
        for t in range(repeats + 1):
            W = mixing.at(t)
            times.append(time.perf_counter() - start)
            start = time.perf_counter()
        following = statistics.median(times[1:]) * 1e3
        rows.append(
            {
                "topology": name,
                "n": n,
                "edges": len(W.weights),
                "first_ms": times[0] * 1e3,
                "next_ms": following,
            }
        )
        if entry.varies:
            targets.append(Target(f"{name}, n = {n}: next matrix, ms", following, NEXT_MS))
    return Bench(rows, targets)
