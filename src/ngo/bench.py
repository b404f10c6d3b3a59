"""What things cost, as ratios within one run: the engine, gossip, start-up, Snakemake.

Ways of doing the same work take turns, each in a process of its own (threads that wait for one way
would slow the next). The median of the turns counts; for a ratio, that of each round's own, since
within a round the machine is nearly the same. Targets are what the ratios are held against; a
missed one is reported as missed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngo import pool
from ngo.registry import Registry, UserError

if TYPE_CHECKING:
    import torch
    from torch import nn


GAMMA, P, LR = 0.1, 0.9, 0.05  # of the steps that are measured; their cost is that of any other

# Seconds that a turn begins with: threads that were idle take about as long to reach their speed.
WARM = 0.5

# Does the work once; returns the seconds of a part of it: consensus, where nothing else is said.
Step = Callable[[], float]
WAYS: Registry[Callable[..., Step]] = Registry("way")


@dataclass(frozen=True)
class Target:
    """A ratio with its limit: an upper one, or a lower one with ``at_least``."""

    name: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the ratio is within its limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True)
class Bench:
    """Rows of measurements, and the targets that they are held against."""

    rows: list[dict[str, Any]]
    targets: list[Target]

    def as_json(self) -> str:
        """Machine, rows and targets."""
        targets = [{**asdict(target), "met": target.met} for target in self.targets]
        return json.dumps({"machine": _machine(), "rows": self.rows, "targets": targets}, indent=2)

    def as_text(self) -> str:
        """A table of the rows, and a line for each target."""
        from tabulate import tabulate

        lines = [tabulate(self.rows, headers="keys", floatfmt=".3g"), ""]
        for target in self.targets:
            sign = "≥" if target.at_least else "≤"
            verdict = "met" if target.met else "MISSED"
            lines.append(
                f"{verdict:6s} {target.name}: {target.value:.3g} ({sign} {target.limit:g})"
            )
        return "\n".join(lines)


# The engine ------------------------------------------------------------------------------------

# (model, workers, batch size)
CASES = (
    ("mnist_cnn", 4, 32),
    ("mnist_cnn", 10, 32),
    ("mnist_cnn", 64, 32),
    ("mnist_cnn", 10, 8),
    ("cifar10_cnn", 10, 32),
    ("resnet18", 4, 8),
)
# Of one model's step, at most, on a CPU. These cases are measured if nothing else is asked for.
LIMITS = {("mnist_cnn", 10, 32): 0.5, ("mnist_cnn", 64, 32): 0.45, ("cifar10_cnn", 10, 32): 0.6}
ONE_MODEL, IN_TURN, IN_TURN_1 = "one model", "in turn", "in turn, 1 thread"
RING, COMPLETE = "ring", "complete"


def engine(
    cases: Sequence[tuple[str, int, int]] = tuple(LIMITS), device: str = "cpu", repeats: int = 5
) -> Iterator[Bench]:
    """Training steps of n workers, by backend, against plain PyTorch on the same samples.

    ``one model`` is one network and one batch of all n·b samples, ``in turn`` n networks one after
    another without any consensus; both as a user would write them, with all threads. The backends
    do whole steps with NGO: gradients, SGD and consensus. Yields each case when it is measured.
    """
    for model, n, b in cases:
        ways = [ONE_MODEL, IN_TURN, IN_TURN_1, *(f"{name}, {RING}" for name in _backends(device))]
        ways.append(f"{_backends(device)[-1]}, {COMPLETE}")
        if model == "resnet18" and device == "cpu":
            ways.remove(f"vmap, {RING}")  # a minute a step
        case = {"model": model, "n": n, "b": b, "device": device}
        name = f"{model}, n = {n}, b = {b}"
        taken = turns({way: (way, case) for way in ways}, repeats, name)
        rows = [
            {
                **case,
                "way": way,
                "us_per_sample": taken.seconds(way) / (n * b) * 1e6,
                "of_one_model": taken.ratio(way, ONE_MODEL),
                "consensus_share": taken.share(way),
            }
            for way in ways
        ]
        targets = []
        ring, complete = (f"{_backends(device)[-1]}, {topology}" for topology in (RING, COMPLETE))
        if device == "cpu" and (model, n, b) in LIMITS:
            ratio = taken.ratio(ring, ONE_MODEL)
            targets.append(Target(f"{name}: step of one model's", ratio, LIMITS[model, n, b]))
            for way, text in ((IN_TURN, "all threads"), (IN_TURN_1, "1 thread")):
                faster = taken.ratio(way, ring)
                label = f"{name}: faster than workers in turn ({text})"
                targets.append(Target(label, faster, 2.5, at_least=True))
            label = f"{name}: consensus on a ring, share"
            targets.append(Target(label, taken.share(ring), 0.04))
            label = f"{name}: consensus on a complete graph, share"
            targets.append(Target(label, taken.share(complete), 0.1 if n <= 10 else 0.35))
        yield Bench(rows, targets)


def growth(repeats: int = 5, sizes: Sequence[int] = (4, 10, 64)) -> Bench:
    """What a sample costs on rings of n workers, in rounds of their own: twice as many as
    elsewhere, and longer ones, since it is small differences that count.
    """
    case = {"model": "mnist_cnn", "b": 32, "device": "cpu"}
    way = f"{_backends('cpu')[-1]}, {RING}"
    taken = turns({str(n): (way, {**case, "n": n}) for n in sizes}, 2 * repeats, "growth", least=1)
    most = max(sizes)
    rows = [
        {
            **case,
            "n": n,
            "way": way,
            "us_per_sample": taken.seconds(str(n)) / (n * case["b"]) * 1e6,
            "of_most_workers": taken.ratio(str(n), str(most)) * most / n,
        }
        for n in sizes
    ]
    costs = [row["of_most_workers"] for row in rows]
    name = "mnist_cnn: cost of a sample, largest of all n to smallest"
    return Bench(rows, [Target(name, max(costs) / min(costs), 1.15)])


def run_overhead(repeats: int = 5) -> Bench:
    """Of a whole run (MNIST's sizes, one epoch, n = 10), what is neither step nor forward pass."""
    case = {"model": "mnist_cnn", "n": 10, "b": 32, "device": "cpu"}
    taken = turns({"run": ("run, then its work alone", case)}, repeats, "a whole run", least=0)
    share, both = taken.share("run"), taken.seconds("run")
    rows = [
        {**case, "way": "run", "seconds": both * (1 - share)},
        {**case, "way": "its steps and forward passes", "seconds": both * share},
    ]
    rest = 1 - share / (1 - share)
    return Bench(rows, [Target("run: all but steps and forward passes, share", rest, 0.1)])


def _backends(device: str) -> tuple[str, ...]:
    """The device's backends, the one that runs use last."""
    return ("loop", "vmap", "threads") if device == "cpu" else ("loop", "vmap", "graphs", "auto")


def _batches(model: str, n: int, b: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    from ngo.models import MODELS
    from ngo.seeding import torch_stream

    generator = torch_stream(0, "bench")
    inputs = torch.randn(n, b, *MODELS[model].input_shape, generator=generator)
    targets = torch.randint(10, (n, b), generator=generator)
    return inputs.to(device), targets.to(device)


def _plain(model: str, device: str) -> nn.Module:
    """The network of torch's own modules alone."""
    from torch import nn

    from ngo.layers import ConvPoolReLU2d
    from ngo.models import MODELS
    from ngo.seeding import torch_stream

    def standard(layer: nn.Module) -> nn.Module:
        if not isinstance(layer, ConvPoolReLU2d):
            return layer
        convolution = nn.Conv2d(layer.in_channels, layer.out_channels, layer.kernel_size)
        return nn.Sequential(convolution, nn.MaxPool2d(2), nn.ReLU())

    module = MODELS[model].build(torch_stream(0, "dropout", None, device))
    if isinstance(module, nn.Sequential):
        module = nn.Sequential(*map(standard, module))
    return module.to(device)


def _one_model(model: str, n: int, b: int, device: str) -> Step:
    inputs, targets = _batches(model, n, b, device)
    return _in_turn(model, 1, n * b, device, inputs.flatten(0, 1)[None], targets.flatten()[None])


def _in_turn(model: str, n: int, b: int, device: str, inputs=None, targets=None) -> Step:
    import torch
    from torch.nn.functional import cross_entropy

    if inputs is None:
        inputs, targets = _batches(model, n, b, device)
    modules = [_plain(model, device) for _ in range(n)]
    optimizers = [torch.optim.SGD(module.parameters(), lr=LR) for module in modules]

    def step() -> float:
        for module, optimizer, x, y in zip(modules, optimizers, inputs, targets, strict=True):
            optimizer.zero_grad()
            cross_entropy(module(x), y).backward()
            optimizer.step()
        return 0.0

    return step


def _in_turn_1(**case: Any) -> Step:
    import torch

    torch.set_num_threads(1)
    return _in_turn(**case)


def _backend(name: str, topology: str, model: str, n: int, b: int, device: str) -> Step:
    import torch

    from ngo.backends import Stacked
    from ngo.coupling import gossip_step
    from ngo.graphs import mixing_stream
    from ngo.population import Population
    from ngo.seeding import torch_stream

    torch.set_num_threads(1)  # as in training
    population = Population(model, n, 0, device=device, backend=name)
    batches = Stacked(*_batches(model, n, b, device))
    W = next(mixing_stream(topology, n, None, torch_stream(0, "graphs")))
    X, G = population.X, population.G

    def step() -> float:
        population.gradients(batches)
        X.sub_(G, alpha=LR)
        _wait(device)
        start = time.perf_counter()
        with pool.using(population.spread):
            gossip_step(X, W, GAMMA, P, out=X)
        _wait(device)
        return time.perf_counter() - start

    return step


WAYS.add(ONE_MODEL, _one_model)
WAYS.add(IN_TURN, _in_turn)
WAYS.add(IN_TURN_1, _in_turn_1)
for _name in ("loop", "threads", "vmap", "graphs", "auto"):
    for _topology in (RING, COMPLETE):
        WAYS.add(
            f"{_name}, {_topology}",
            lambda *, _name=_name, _topology=_topology, **case: _backend(_name, _topology, **case),
        )


def _run_and_work(model: str, n: int, b: int, device: str) -> Step:
    """A whole run, then its steps and its forward passes alone: the part that is told."""
    import numpy as np
    import torch

    from ngo.datasets import Dataset
    from ngo.models import MODELS
    from ngo.population import Population
    from ngo.seeding import torch_stream
    from ngo.spec import resolve
    from ngo.training import train

    torch.set_num_threads(1)
    generator = torch_stream(0, "bench")

    def images(m: int) -> torch.Tensor:
        shape = (m, *MODELS[model].input_shape)
        return torch.randint(256, shape, generator=generator, dtype=torch.uint8)

    spec = resolve({"model": model, "workers": n, "batch_size": b, "epochs": 1.0, "lr": LR})
    train_images, test_images = images(60_000), images(10_000)  # MNIST's
    labels = [torch.randint(10, (m,), generator=generator) for m in (60_000, 10_000)]
    data = Dataset(
        "bench", 10, train_images, labels[0], test_images, labels[1], *torch.tensor([0.5, 0.3])
    )
    parts = np.array_split(np.arange(60_000), n)
    one = _backend("threads", RING, model=model, n=n, b=b, device=device)
    population = Population(model, n, 0, device=device)
    chunks = data.normalised(test_images).split(MODELS[model].chunk_on(test_images.device))
    # At the start all workers agree, and one model is evaluated; at the end n and their mean.
    models = [population.modules()[0], *population.modules()]
    for module in models:
        module.eval()

    @torch.no_grad()
    def forward(k: int) -> None:
        models[k // len(chunks)](chunks[k % len(chunks)])

    def step() -> float:
        rows, _, _ = train(spec, data, parts)
        start = time.perf_counter()
        for _ in range(rows[-1].step):
            one()
        population.spread(forward, len(models) * len(chunks))
        return time.perf_counter() - start

    return step


WAYS.add("run, then its work alone", _run_and_work)


# Gossip ----------------------------------------------------------------------------------------

# (topology, workers, parameters): MNIST's CNN, and ResNet-18.
GOSSIP_CASES = (
    ("ring", 10, 21_840),
    ("random", 10, 21_840),
    ("complete", 10, 21_840),
    ("ring", 64, 21_840),
    ("complete", 64, 21_840),
    ("ring", 10, 11_279_112),
)
COPY, PRODUCT, LINEAR, NAIVE, NONLINEAR = "copy", "matrix product", "linear", "naive", "nonlinear"


def gossip(
    cases: Sequence[tuple[str, int, int]] = GOSSIP_CASES, device: str = "cpu", repeats: int = 5
) -> Iterator[Bench]:
    """Consensus steps, linear and nonlinear, against a copy of the state and the naive form.

    Yields each case when it is measured.
    """
    for topology, n, d in cases:
        case = {"topology": topology, "n": n, "d": d, "device": device}
        ways = (COPY, PRODUCT, LINEAR, NAIVE, NONLINEAR)
        name = f"{topology}, n = {n}, d = {d}"
        taken = turns({way: (way, case) for way in ways}, repeats, name)
        rows = [
            {
                **case,
                "way": way,
                "ms": taken.seconds(way) * 1e3,
                "of_a_copy": taken.ratio(way, COPY),
                "faster_than_naive": taken.ratio(NAIVE, way),
            }
            for way in ways
        ]
        targets = []
        if device == "cpu":
            linear = taken.ratio(LINEAR, PRODUCT)
            targets.append(Target(f"{name}: linear of a matrix product's", linear, 2))
            if topology == "complete":
                faster = taken.ratio(NAIVE, NONLINEAR)
                targets.append(Target(f"{name}: faster than naive", faster, 4, at_least=True))
        elif topology == "ring" and d > 10**6:
            bandwidth = taken.ratio(COPY, NONLINEAR)
            targets.append(Target(f"{name}: of a copy's speed", bandwidth, 0.6, at_least=True))
        yield Bench(rows, targets)


def _gossip(way: str, topology: str, n: int, d: int, device: str) -> Step:
    import torch

    from ngo.coupling import gossip_step
    from ngo.graphs import mixing_stream
    from ngo.seeding import torch_stream

    torch.set_num_threads(1)
    X = 0.05 * torch.randn(n, d, generator=torch_stream(0, "bench"))
    X, other = X.to(device), torch.empty_like(X, device=device)
    W = next(mixing_stream(topology, n, 0.4, torch_stream(0, "graphs")))
    product = torch.eye(n, dtype=X.dtype, device=device)
    spread = pool.threads() if device == "cpu" else pool.in_order
    edges = W.nonzero().tolist()

    def naive() -> torch.Tensor:
        """The equation, term by term."""
        new = X.clone()
        for i, j in edges:
            if i != j:
                z = X[j] - X[i]
                new[i] += GAMMA * W[i, j].item() * z.sign() * z.abs() ** (2 * P - 1)
        return new

    work = {
        COPY: lambda: other.copy_(X),
        PRODUCT: lambda: torch.mm(product, X, out=other),
        LINEAR: lambda: gossip_step(X, W, GAMMA, 1, out=other),
        NAIVE: naive,
        NONLINEAR: lambda: gossip_step(X, W, GAMMA, P, out=other),
    }[way]

    def step() -> float:
        with pool.using(spread):
            work()
        _wait(device)
        return 0.0

    return step


for _way in (COPY, PRODUCT, LINEAR, NAIVE, NONLINEAR):
    WAYS.add(_way, lambda *, _way=_way, **case: _gossip(_way, **case))


# Start-up and Snakemake --------------------------------------------------------------------------


def startup(repeats: int = 5) -> Bench:
    """``ngo train`` of a single step, from nothing to its files, against ``import torch``."""
    tiny = ("--dataset", "least_squares", "--protocol", "centralized", "--workers", "1")
    with tempfile.TemporaryDirectory() as folder:
        train = [sys.executable, "-m", "ngo", "train", *tiny, "--batch-size", "1"]
        commands = {
            "import torch": [sys.executable, "-c", "import torch"],
            "ngo train": [*train, "--epochs", "1e-9", "--device", "cpu", "--out", folder],
            "ngo --help": [sys.executable, "-m", "ngo", "--help"],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(repeats + 1):
            for name, command in commands.items():
                seconds = _seconds(command)
                if turn:  # the first reads the files from the disk
                    taken[name].append(seconds)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    torch = medians["import torch"]
    rows = [
        {"command": name, "seconds": seconds, "of_import_torch": seconds / torch}
        for name, seconds in medians.items()
    ]
    return Bench(rows, [Target("ngo train of import torch's", medians["ngo train"] / torch, 1.3)])


def workflow(jobs: int = 10) -> Bench:
    """What Snakemake adds to training jobs of the demo, one after another, beyond its own start."""
    if not Path("Snakefile").is_file():
        raise UserError("workflow: there is no Snakefile here; go to the project's folder.")
    from ngo.experiments import plan, read_config

    configs = (Path("config/config.yaml"), Path("config/demo.yaml"))
    runs = sorted(plan(read_config(configs)).runs)[:jobs]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("config", "workflow", "notebooks"):
            shutil.copytree(name, Path(folder) / name)
        shutil.copy("Snakefile", folder)
        (Path(folder) / "cold.yaml").write_text("warm: false\n")
        command = [sys.executable, "-m", "snakemake", "--cores", "1"]
        command += ["--configfile", "config/demo.yaml", "cold.yaml"]
        targets = [f"results/runs/{run}/metrics.parquet" for run in runs]
        start = _seconds([*command, "-n", "--", *targets], folder)
        whole = _seconds([*command, "--", *targets], folder)
        tables = (Path(folder) / "benchmarks/train").glob("*.tsv")
        inside = [float(table.read_text().splitlines()[1].split("\t")[0]) for table in tables]
    rows = [
        {"what": "Snakemake's start", "seconds": start},
        {"what": f"{len(inside)} jobs, inside", "seconds": sum(inside)},
        {"what": "all", "seconds": whole},
    ]
    each = (whole - start - sum(inside)) / len(inside)
    return Bench(rows, [Target("Snakemake's seconds for each job", each, 1)])


def _seconds(command: Sequence[str], folder: str | None = None) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "NGO_WARM"}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"bench: {' '.join(command)} failed: {done.stderr.strip()[-200:]}")
    return time.perf_counter() - start


# Turns -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turns:
    """Of each way, by round: seconds of a step, and of a part of it."""

    rounds: dict[str, list[tuple[float, float]]]

    def seconds(self, way: str) -> float:
        """Of a step of that way: the median."""
        return statistics.median(whole for whole, _ in self.rounds[way])

    def ratio(self, way: str, other: str) -> float:
        """Of a step of the one way to one of the other: the median of the rounds' ratios."""
        rounds = zip(self.rounds[way], self.rounds[other], strict=True)
        return statistics.median(mine / theirs for (mine, _), (theirs, _) in rounds)

    def share(self, way: str) -> float:
        """Of the part in a step of that way: the median of the rounds' shares."""
        return statistics.median(part / whole for whole, part in self.rounds[way])


def turns(
    ways: Mapping[str, tuple[str, Mapping[str, Any]]], repeats: int, name: str, least: float = 0.3
) -> Turns:
    """Rounds in which each of ``ways`` (an entry of WAYS, its case) has a turn: it lasts ``least``
    seconds, or one step, after WARM seconds that don't count. ``name`` tells on standard error how
    far it is.
    """
    context = multiprocessing.get_context("spawn")
    ends, taken = {}, {way: [] for way in ways}
    try:
        for way, (entry, case) in ways.items():
            ours, theirs = context.Pipe()
            child = context.Process(target=_work, args=(theirs, entry, dict(case)), daemon=True)
            child.start()
            theirs.close()
            ends[way] = ours, child
        for way, (end, _) in ends.items():
            print(f"{name}: start of {way}", file=sys.stderr, flush=True)
            end.recv()
        for turn in range(repeats):
            print(f"{name}: turn {turn + 1} of {repeats}", file=sys.stderr, flush=True)
            for way, (end, _) in ends.items():
                end.send(least)
                taken[way].append(end.recv())
    except EOFError:
        raise UserError(f"bench: {way!r} failed; see above.") from None
    finally:
        for end, child in ends.values():
            child.terminate()
            child.join()
            end.close()
    return Turns(taken)


def _work(end: Any, way: str, case: dict[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that measures
    step = WAYS[way](**case)
    step()
    end.send(None)
    while True:
        least = end.recv()
        _for_seconds(WARM, step, case["device"])
        end.send(_for_seconds(least, step, case["device"]))


def _for_seconds(least: float, step: Step, device: str) -> tuple[float, float]:
    """Seconds of a step, of ``least`` seconds of steps or one, and of the part it tells."""
    count, inside, start = 0, 0.0, time.perf_counter()
    while count == 0 or time.perf_counter() - start < least:
        inside += step()
        count += 1
    _wait(device)
    return (time.perf_counter() - start) / count, inside / count


def _wait(device: str) -> None:
    import torch

    if device != "cpu":
        torch.cuda.synchronize(device)


def _machine() -> dict[str, Any]:
    import torch

    return {
        "cores": pool.cores(),
        "processor": _processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def _processor() -> str:
    """The processor's model, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
