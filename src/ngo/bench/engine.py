"""The cost of a training step, by backend, relative to plain PyTorch and to matrix products."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ngo.bench.costs import Bench, Target
from ngo.bench.matrix_products import matrix_product, matrix_product_on_one_thread
from ngo.bench.plain_torch import in_turn, in_turn_on_one_thread, one_model
from ngo.bench.training_step import training_step
from ngo.bench.turns import Step, Turns, turns

Case = tuple[str, int, int]  # model, workers, batch size

CASES = (
    ("mnist_cnn", 4, 32),
    ("mnist_cnn", 10, 32),
    ("mnist_cnn", 64, 32),
    ("mnist_cnn", 10, 8),
    ("cifar10_cnn", 10, 32),
    ("resnet18", 4, 8),
)

# Upper limits on a CPU of a step's time relative to one model's. By default only these cases are
# measured.
LIMITS = {
    ("mnist_cnn", 10, 32): 0.2,
    ("mnist_cnn", 64, 32): 0.2,
    ("mnist_cnn", 10, 8): 0.35,
    ("cifar10_cnn", 10, 32): 0.3,
}

PRODUCT, PRODUCT_1 = "matrix product", "matrix product, 1 thread"
ONE_MODEL, IN_TURN, IN_TURN_1 = "one model", "in turn", "in turn, 1 thread"
RING, COMPLETE = "ring", "complete"

BASELINES = {
    PRODUCT: matrix_product,
    PRODUCT_1: matrix_product_on_one_thread,
    ONE_MODEL: one_model,
    IN_TURN: in_turn,
    IN_TURN_1: in_turn_on_one_thread,
}

# What uses one thread; it is compared with matrix products on one.
ONE_THREAD = (PRODUCT_1, IN_TURN_1, f"loop, {RING}", f"vmap, {RING}")

# The batches from which the fixed cost of a worker's step is computed.
BATCHES = (8, 32, 128)


def engine(
    cases: Sequence[Case] = tuple(LIMITS), device: str = "cpu", repeats: int = 5
) -> Iterator[Bench]:
    """Training steps of n workers, by backend, and of plain PyTorch on as many samples.

    ``one model`` trains one model on one batch of all n·b samples, and ``in turn`` trains n models
    one after another, without consensus; both use all threads. The backends take the package's own
    steps with NGO. ``matrix product`` has the same number of multiply-adds as a step, at the
    machine's full rate: ``of_the_rate`` is its time relative to a step's, with as many threads.
    Each case is yielded when it is measured.
    """
    for model, n, b in cases:
        case = {"model": model, "n": n, "b": b, "device": device}
        ways = _ways(model, device)
        name = f"{model}, n = {n}, b = {b}"
        prepared = {way: partial(prepare, **case) for way, prepare in ways.items()}
        taken = turns(prepared, repeats, name, device=device)
        rows = [
            {
                **case,
                "way": way,
                "us_per_sample": taken.seconds(way) / (n * b) * 1e6,
                "of_one_model": taken.ratio(way, ONE_MODEL),
                "of_the_rate": taken.ratio(PRODUCT_1 if way in ONE_THREAD else PRODUCT, way),
                "consensus_share": taken.share(way),
            }
            for way in ways
        ]
        on_cpu = device == "cpu" and (model, n, b) in LIMITS
        yield Bench(rows, _targets(taken, name, (model, n, b)) if on_cpu else [])


def growth(repeats: int = 5, sizes: Sequence[int] = (4, 10, 64)) -> Bench:
    """The cost of a sample on rings of n workers.

    The differences are small. There are therefore twice as many rounds as elsewhere, with longer
    turns.
    """
    case = {"model": "mnist_cnn", "b": 32, "device": "cpu"}
    backend = _backends("cpu")[-1]
    ways = {str(n): partial(training_step, backend, RING, **case, n=n) for n in sizes}
    taken = turns(ways, 2 * repeats, "growth", least=1)
    most = max(sizes)
    rows = [
        {
            **case,
            "n": n,
            "way": f"{backend}, {RING}",
            "us_per_sample": taken.seconds(str(n)) / (n * case["b"]) * 1e6,
            "of_most_workers": taken.ratio(str(n), str(most)) * most / n,
        }
        for n in sizes
    ]
    costs = [row["of_most_workers"] for row in rows]
    name = "mnist_cnn: cost of a sample, largest of all n to smallest"
    return Bench(rows, [Target(name, max(costs) / min(costs), 1.15)])


def worker_steps(repeats: int = 5, model: str = "mnist_cnn", n: int = 10) -> Bench:
    """A worker's step by its batch: the cost of a sample, and the cost that no sample adds.

    Both follow from the smallest and the largest of BATCHES, in each round. A worker's step is the
    time of a step of all n workers, divided by n.
    """
    case = {"model": model, "n": n, "device": "cpu"}
    backend = _backends("cpu")[-1]
    ways = {str(b): partial(training_step, backend, RING, **case, b=b) for b in BATCHES}
    taken = turns(ways, repeats, "a worker's step")
    few, many = BATCHES[0], BATCHES[-1]
    rounds = zip(taken.rounds[str(few)], taken.rounds[str(many)], strict=True)
    ends = [(short / n, long / n) for (short, _), (long, _) in rounds]
    sample = statistics.median((long - short) / (many - few) for short, long in ends)
    fixed = statistics.median((many * short - few * long) / (many - few) for short, long in ends)
    rows = [{**case, "b": b, "ms": taken.seconds(str(b)) / n * 1e3} for b in BATCHES]
    costs = {**case, "fixed_ms": fixed * 1e3, "us_of_a_sample": sample * 1e6}
    return Bench(
        [*rows, costs], [Target(f"{model}: fixed cost of a worker's step, ms", fixed * 1e3, 0.05)]
    )


def _backends(device: str) -> tuple[str, ...]:
    """The backends for the device; the last is the one that runs have by default."""
    own = "threads" if device == "cpu" else "graphs"
    return "loop", "vmap", own, "auto"


def _ways(model: str, device: str) -> dict[str, Callable[..., Step]]:
    """The baselines, all backends on a ring, and the default backend on a complete graph."""
    names = _backends(device)
    topologies = [*((name, RING) for name in names), (names[-1], COMPLETE)]
    backends = {
        f"{name}, {graph}": partial(training_step, name, graph) for name, graph in topologies
    }
    if model == "resnet18" and device == "cpu":
        del backends[f"vmap, {RING}"]  # a step takes a minute
    return BASELINES | backends


def _targets(taken: Turns, name: str, case: Case) -> list[Target]:
    ring, complete = (f"{_backends('cpu')[-1]}, {topology}" for topology in (RING, COMPLETE))
    targets = [Target(f"{name}: step of one model's", taken.ratio(ring, ONE_MODEL), LIMITS[case])]
    for way, text in ((IN_TURN, "all threads"), (IN_TURN_1, "1 thread")):
        label = f"{name}: faster than workers in turn ({text})"
        targets.append(Target(label, taken.ratio(way, ring), 2.5, at_least=True))
    if case[2] < 32:
        return targets
    label = f"{name}: share of the rate of matrix products"
    targets.append(Target(label, taken.ratio(PRODUCT, ring), 0.5, at_least=True))
    label = f"{name}: consensus on a ring, share"
    targets.append(Target(label, taken.share(ring), 0.04))
    label = f"{name}: consensus on a complete graph, share"
    return [*targets, Target(label, taken.share(complete), 0.1 if case[1] <= 10 else 0.35)]
