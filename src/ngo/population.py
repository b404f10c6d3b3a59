"""n workers as one ``[n, d]`` parameter matrix.

Row i of ``X`` holds worker i's parameters: the parameters of its module are views of that row, and
their gradients views of row i of ``G``. Protocols see the two matrices, models see modules, and
nothing is copied between them.

How the work for each worker is spread is a backend's matter. ``loop`` does one worker after
another and is the reference; ``threads`` spreads workers over a thread pool. Both compute each
worker on one intra-op thread, so that their results are the same to the byte with any number of
threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import nn

from ngo.models import MODELS
from ngo.registry import Registry, unknown
from ngo.seeding import stream_seed, torch_stream
from ngo.tasks import TASKS, Task

T = TypeVar("T")
Map = Callable[[Callable[[int], T], int], list[T]]  # (f, k) → [f(0), …, f(k − 1)]

# Samples of one forward pass of an evaluation: its activations stay in a core's cache.
CHUNK = 250


@dataclass(frozen=True)
class Scores:
    """Mean loss and accuracy on a set of samples, for the consensus model and each worker."""

    consensus_loss: float
    consensus_accuracy: float
    worker_losses: list[float]
    worker_accuracies: list[float]


@contextmanager
def one_intra_op_thread() -> Iterator[None]:
    """Keep torch on one thread inside each operation, until the block ends.

    Besides giving the same bytes everywhere, it keeps torch's idle threads from spinning on cores
    that other workers, or other runs on this machine, could use.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Population:
    """The workers of one run.

    All workers start from the same parameters, drawn from the stream (seed, "init"); worker i's
    dropout masks come from (seed, "dropout", i).
    """

    def __init__(
        self,
        model: str,
        n: int,
        seed: int,
        *,
        device: str | torch.device = "cpu",
        backend: str = "auto",
        threads: int | None = None,
    ) -> None:
        self.task: Task = TASKS[MODELS[model].task]
        if backend == "auto":
            backend = "threads" if torch.device(device).type == "cpu" else "loop"
        if backend not in BACKENDS:
            raise unknown("backend", backend, ["auto", *BACKENDS])
        self.backend = backend
        self._map = BACKENDS[backend](threads)

        def build(worker: int | None) -> nn.Module:
            # The modules' own initialization draws from torch's global stream: lend it ours.
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(stream_seed(seed, "init"))
                generator = torch_stream(seed, "dropout", worker, device)
                return MODELS[model].build(generator).to(device)

        self._workers = [build(i) for i in range(n)]
        self._consensus = build(None)
        d = sum(parameter.numel() for parameter in self._consensus.parameters())
        self.X = torch.empty(n, d, device=device)
        self.G = torch.zeros_like(self.X)
        for module, row, gradient in zip(self._workers, self.X, self.G, strict=True):
            _bind(module, row, gradient)
        self._consensus_row = torch.empty(d, device=device)
        _bind(self._consensus, self._consensus_row)
        self._consensus.eval()

    @property
    def n(self) -> int:
        """The number of workers."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """The number of parameters of one model."""
        return self.X.shape[1]

    @one_intra_op_thread()
    def gradients(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Put the gradient of each worker's mean loss on its own batch into ``G``.

        ``inputs`` is ``[n, b, …]``, ``targets`` ``[n, b]``; returns the losses ``[n]``.
        """
        self.G.zero_()

        def worker(i: int) -> torch.Tensor:
            loss = self.task.loss(self._workers[i](inputs[i]), targets[i]).mean()
            loss.backward()
            return loss.detach()

        return torch.stack(self._map(worker, self.n))

    def consensus_model(self) -> torch.Tensor:
        """The mean of the workers' parameters ``[d]``: exactly their row where all rows agree."""
        return self.X.double().mean(0).to(self.X.dtype)

    @one_intra_op_thread()
    @torch.no_grad()
    def evaluate(self, inputs: Sequence[torch.Tensor], targets: Sequence[torch.Tensor]) -> Scores:
        """Loss and accuracy, dropout off, over all samples of the chunks ``inputs``/``targets``.

        When all rows agree, one model is evaluated and stands for all.
        """
        self._consensus_row.copy_(self.consensus_model())
        agree = bool((self._consensus_row == self.X).all())
        models = [self._consensus] if agree else [self._consensus, *self._workers]
        for module in models:
            module.eval()

        @torch.no_grad()
        def part(k: int) -> tuple[float, float]:
            chunk, module = k % len(inputs), models[k // len(inputs)]
            outputs = module(inputs[chunk])
            losses = self.task.loss(outputs, targets[chunk])
            scores = self.task.score(outputs, targets[chunk])
            return float(losses.double().sum()), float(scores.double().sum())

        parts = self._map(part, len(models) * len(inputs))
        for module in self._workers:
            module.train()
        samples = sum(len(chunk) for chunk in targets)
        sums = [parts[k : k + len(inputs)] for k in range(0, len(parts), len(inputs))]
        losses = [sum(loss for loss, _ in model) / samples for model in sums]
        accuracies = [sum(score for _, score in model) / samples for model in sums]
        return Scores(
            losses[0],
            accuracies[0],
            losses * self.n if agree else losses[1:],
            accuracies * self.n if agree else accuracies[1:],
        )


BACKENDS: Registry[Callable[[int | None], Map]] = Registry("backend")


def _loop(threads: int | None = None) -> Map:
    """One worker after another: the reference."""

    def run(f: Callable[[int], T], k: int) -> list[T]:
        return [f(i) for i in range(k)]

    return run


def _threads(threads: int | None = None) -> Map:
    """Workers spread over ``threads`` threads (default: the cores this process may use)."""
    pool = ThreadPoolExecutor(threads or _cores(), initializer=torch.set_num_threads, initargs=(1,))

    def run(f: Callable[[int], T], k: int) -> list[T]:
        return list(pool.map(f, range(k)))

    return run


BACKENDS.add("loop", _loop)
BACKENDS.add("threads", _threads)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS can't say which cores a process may use
        return os.cpu_count() or 1


def _bind(module: nn.Module, row: torch.Tensor, gradient: torch.Tensor | None = None) -> None:
    """Make the module's parameters views of ``row`` (which takes their values), in order.

    Kernels of convolutions lie there with their channels last, the layout in which the CPU's
    convolutions and poolings are fastest.
    """
    start = 0
    for parameter in module.parameters():
        stop = start + parameter.numel()
        view = _view(row[start:stop], parameter)
        view.copy_(parameter.detach())
        parameter.data = view
        if gradient is not None:
            parameter.grad = _view(gradient[start:stop], parameter)
        start = stop


def _view(flat: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    if like.dim() != 4:
        return flat.view(like.shape)
    out, channels, height, width = like.shape
    return flat.view(out, height, width, channels).permute(0, 3, 1, 2)
