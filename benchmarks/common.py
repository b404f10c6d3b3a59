"""What the scripts of this folder share: options, times, tables, and steps on random images."""

import argparse
import copy
import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from timeit import Timer

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from ngo.common.devices import deterministic
from ngo.common.registries import MODELS, REGISTRIES, TASKS
from ngo.common.seeding import torch_stream
from ngo.data.dataset import Dataset, Source
from ngo.models.layers import ConvPoolReLU2d, Dropout
from ngo.models.model import Model
from ngo.training.learning_problem import Problem, make_problem
from ngo.training.run import stepper_of
from ngo.training.spec import RunSpec
from ngo.training.spec_checks import resolve
from ngo.training.stepper import Stepper

Step = Callable[[], object]
KINDS = ("method", "coupling", "compression", "topology", "local_rule", "attack")
# The further fields that an entry, or each entry of a kind, needs.
MORE = {
    "coupling": {"method": "ngo"},
    "compression": {"method": "choco"},
    "attack": {"liars": 2},
    "implicit": {"topology": "alternating_matching"},
    "relay_sum": {"topology": "chain"},
    "ad_psgd": {"clock": "asynchronous"},
    "gt_saga": {"batch_size": 1},
    **{name: {"workers": 8} for name in ("hypercube", "one_peer_hypercube")},
}


def options(
    description: str, device: str = "cpu", parts: Sequence[str] = (), **paths: str
) -> argparse.Namespace:
    """The options of a script; ``parts`` of it to choose from; ``paths`` with their help."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes: does the script run?")
    parser.add_argument("--device", choices=("cpu", "cuda"), default=device)
    if parts:
        parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    for name, text in paths.items():
        parser.add_argument(f"--{name}", type=Path, help=text)
    args = parser.parse_args()
    args.cuda = args.device == "cuda"
    if args.cuda:
        deterministic()
    return args


def entries() -> Iterator[tuple[str, str, dict]]:
    """The kind, the name and the fields of each registered method, coupling, …."""
    for kind in KINDS:
        for name in filter(lambda name: name != "none", REGISTRIES[kind]):
            directed = kind == "topology" and REGISTRIES[kind][name].directed
            fields = {"method": "push_sum" if directed else "gossip", **MORE.get(kind, {})}
            yield kind, name, {**fields, kind: name, **MORE.get(name, {})}


def timed(step: Step, args: argparse.Namespace) -> tuple[float, float]:
    """The mean seconds of a step, after others, and those that the host needs to start it.

    On a CPU, these are the same, and of as many steps as take 0.2 seconds.

    A card takes 3 to 200 steps, some 0.3 seconds: the second one, which is waited for, says how
    many. It is timed by CUDA events: the host only queues steps.
    """
    if not args.cuda:
        timer = Timer(step)
        count, taken = (1, timer.timeit(1)) if args.quick else timer.autorange()
        return taken / count, taken / count
    for _ in range(2):
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
    count = int(min(max(0.3 / (time.perf_counter() - start), 3), 200))
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start = time.perf_counter()
    first.record()
    for _ in range(count):
        step()
    last.record()
    host = time.perf_counter() - start
    last.synchronize()
    return first.elapsed_time(last) / 1e3 / count, host / count


class Work(TorchDispatchMode):
    """Counts kernels, bytes and operations within a block, and models their time on an H200.

    Each kernel takes the longest of 2 µs, its bytes at 3.8 TB/s and its operations at 45 TFLOP/s.
    What is replayed, or compiled, is not seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kernels, self.bytes, self.operations, self.seconds = 0, 0, 0, 0.0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Count one operation, unless it is a view or memory alone."""
        out = func(*args, **(kwargs or {}))
        read, written = (
            [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
            for tree in ((args, kwargs), out)
        )
        memory = {tensor.untyped_storage().data_ptr() for tensor in read}
        new = [x for x in written if x.untyped_storage().data_ptr() not in memory]
        if "empty" not in func.__name__ and (new or func._schema.is_mutable):
            size = sum(tensor.nbytes for tensor in (*read, *new))
            flops = flop_registry.get(func.overloadpacket, lambda *_, **__: 0)
            operations = flops(*args, **(kwargs or {}), out_val=out)
            self.kernels, self.bytes = self.kernels + 1, self.bytes + size
            self.operations += operations
            self.seconds += max(2e-6, size / 3.8e12, operations / 45e12)
        return out


def free(args: argparse.Namespace) -> bool:
    """Give back the memory of the row before; whether the card computes, which errors may end."""
    gc.collect()
    try:
        if args.cuda:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
    except RuntimeError:
        return False
    return True


class Report:
    """Texts and Markdown tables that are printed, and appended to a file, line by line."""

    def __init__(self, path: Path | None = None) -> None:
        self.path, self._columns = path, dict[str, str]()

    def tell(self, text: str) -> None:
        """Write a text; the next row begins a table."""
        self._columns = {}
        self._write(text)

    def row(self, row: dict) -> None:
        """Write a row; the table begins anew where it has further columns."""
        lines = [row]
        if not row.keys() <= self._columns.keys():
            self._columns |= dict.fromkeys(row, "---")
            lines = [{column: column for column in self._columns}, self._columns, row]
            self._write("\n")
        for line in lines:
            cells = (line.get(column, "") for column in self._columns)
            texts = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
            self._write(f"| {' | '.join(texts)} |\n")

    def _write(self, text: str) -> None:
        print(text, end="", flush=True)
        if self.path:
            with self.path.open("a") as file:
                file.write(text)


def show(rows: Iterable[dict]) -> None:
    """Print a Markdown table."""
    report = Report()
    for row in rows:
        report.row(row)


def compare(
    ways: Mapping[str, Step], beside: str, args: argparse.Namespace, steps: int = 1, **case: object
) -> list[dict]:
    """Time ways in turns: a row has milliseconds per step, and their ratio to those of ``beside``.

    They are the median over turns. One call of a way takes ``steps`` steps. ``case`` are further
    columns.
    """
    turns = range(1 if args.quick else 5)
    taken = [[timed(step, args)[0] for step in ways.values()] for _ in turns]
    seconds = dict(zip(ways, map(statistics.median, zip(*taken, strict=True)), strict=True))
    return [
        {**case, "way": way, "ms": 1e3 * taken / steps, f"of {beside}'s": taken / seconds[beside]}
        for way, taken in seconds.items()
    ]


def plain_model(name: str, *, dropout: bool = True) -> nn.Sequential:
    """A model in torch's own layers."""
    layers: list[nn.Module] = []
    for layer in MODELS[name].build(torch_stream(0, "dropout")):
        if isinstance(layer, ConvPoolReLU2d):
            convolution = nn.Conv2d(layer.in_channels, layer.out_channels, layer.kernel_size)
            layers += [convolution, nn.MaxPool2d(2), nn.ReLU()]
        elif not isinstance(layer, Dropout):
            layers.append(layer)
        elif dropout:
            layers.append(nn.Dropout2d() if layer.channels else nn.Dropout())
    return nn.Sequential(*layers)


def in_turn(modules: Sequence[nn.Module], loss, lr: float, *batches: torch.Tensor) -> Step:
    """A step of the modules, one after another, each on its batch."""
    optimizers = [torch.optim.SGD(module.parameters(), lr) for module in modules]

    def step() -> None:
        for module, optimizer, x, y in zip(modules, optimizers, *batches, strict=True):
            optimizer.zero_grad()
            loss(module(x), y).backward()
            optimizer.step()

    return step


def plain(model: str, n: int, b: int, device: str, compiled: bool = False) -> Step:
    """A step of n models, one after another, in plain PyTorch; their batches are on the device."""
    entry, task = MODELS[model], TASKS[MODELS[model].task]
    if entry.task == "classification" and model != "resnet18":
        build = partial(plain_model, model)
    else:
        build = partial(entry.build, torch_stream(0, "dropout", None, device))
    modules = [build().to(device) for _ in range(n)]
    if compiled:
        modules = [torch.compile(module, mode="reduce-overhead") for module in modules]
    images = torch.randint(256, (n, b, *entry.input_shape), device=device, dtype=torch.uint8)
    targets = images if entry.task == "vae" else torch.randint(10, (n, b), device=device)

    def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return task.loss(outputs, targets).mean()

    return in_turn(modules, loss, 0.001, images / 255, targets)


LAYERS = nn.Sequential(nn.Flatten(), nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 10))
#: A model with 100 parameters.
SMALL = Model(lambda _: copy.deepcopy(LAYERS), (1, 2, 2), "classification")


def random_data(name: str, shape: Sequence[int], sizes: Sequence[int], device: str) -> Dataset:
    """Random images of ten classes, for training and for a test: so many of each."""
    generator, tensors = torch_stream(0, "images"), []
    for m in sizes:
        tensors.append(torch.randint(256, (m, *shape), generator=generator, dtype=torch.uint8))
        tensors.append(torch.randint(10, (m,), generator=generator))
    tensors += [torch.full((shape[0], 1, 1), value) for value in (0.5, 0.3)]
    return Dataset(name, 10, *(tensor.to(device) for tensor in tensors))


def learning(
    model: str | Model, workers: int, batch_size: int, device="cpu", batches=4, **fields: object
) -> tuple[RunSpec, Problem]:
    """A run of workers with batches of random images, so many in a pass, and its problem.

    It is NGO on a ring, if ``fields`` are silent.
    """
    entry = MODELS[model] if isinstance(model, str) else model
    name, shape = model if isinstance(model, str) else "own", entry.input_shape
    m = batches * workers * batch_size
    given = {"dataset": "random", "model": name, "task": entry.task, "method": "ngo", "lr": 0.05}
    given |= {"epochs": 1.0, "workers": workers, "batch_size": batch_size, **fields}
    spec = resolve(given, source=Source(None, m, shape, 10), model=entry)
    data = random_data(spec.dataset, shape, (m, batch_size), device)
    parts = list(torch.arange(m).numpy().reshape(spec.workers, -1))
    return spec, make_problem(spec, data, parts, model=entry)


def stepper(model: str | Model, *sizes: int, **fields: object) -> Stepper:
    """The workers of ``learning``."""
    spec, problem = learning(model, *sizes, **fields)
    return stepper_of(spec, problem, (), backend=spec.backend)
