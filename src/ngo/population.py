"""n workers as one ``[n, d]`` parameter matrix.

Row i of ``X`` holds worker i's parameters: the parameters of its module are views of that row, and
their gradients views of row i of ``G``. Protocols see the two matrices, models see modules, and
nothing is copied between them.

How the work for each worker is spread is a backend's matter. ``loop`` does one worker after
another and is the reference; ``threads`` spreads workers over a thread pool. Both compute each
worker on one intra-op thread, so that their results are the same to the byte with any number of
threads.

Buffers (batch normalization's running mean and variance) are local to a worker: they are not
gossiped, and a worker is evaluated with its own. The consensus model has the mean of the workers'
buffers, as it has the mean of their parameters.
"""

from __future__ import annotations

import math
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


@dataclass(frozen=True)
class Scores:
    """Mean loss and accuracy on a set of samples, for the consensus model and each worker.

    The accuracy is NaN for a task that has none; the lists are empty where no worker was asked for.
    """

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
        d, buffers = (
            sum(map(torch.numel, own(self._consensus))) for own in (_parameters, _buffers)
        )
        self.X = torch.empty(n, d, device=device)
        self.G = torch.zeros_like(self.X)
        self.buffers = torch.empty(n, buffers, device=device)
        for i, module in enumerate(self._workers):
            _bind(_parameters(module), self.X[i], self.G[i])
            _bind(_buffers(module), self.buffers[i])
        self._consensus_row = torch.empty(d + buffers, device=device)
        _bind(_parameters(self._consensus), self._consensus_row[:d])
        _bind(_buffers(self._consensus), self._consensus_row[d:])
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
        return _mean(self.X)

    @one_intra_op_thread()
    @torch.no_grad()
    def evaluate(
        self,
        inputs: Sequence[torch.Tensor],
        targets: Sequence[torch.Tensor],
        *,
        workers: bool = True,
    ) -> Scores:
        """Loss and accuracy, dropout off, over all samples of the chunks ``inputs``/``targets``.

        Without ``workers``, of the consensus model alone. When all workers agree, one model is
        evaluated and stands for all.
        """
        consensus, *others = self.modules()
        agree = bool((self.X[0] == self.X).all() and (self.buffers[0] == self.buffers).all())
        models = [consensus] if agree or not workers else [consensus, *others]
        for module in models:
            module.eval()

        @torch.no_grad()
        def part(k: int) -> tuple[float, float]:
            chunk, module = k % len(inputs), models[k // len(inputs)]
            outputs = module(inputs[chunk])
            losses = self.task.loss(outputs, targets[chunk])
            if self.task.score is None:
                return float(losses.double().sum()), math.nan
            scores = self.task.score(outputs, targets[chunk])
            return float(losses.double().sum()), float(scores.double().sum())

        parts = self._map(part, len(models) * len(inputs))
        for module in others:
            module.train()
        samples = sum(len(chunk) for chunk in targets)
        sums = [parts[k : k + len(inputs)] for k in range(0, len(parts), len(inputs))]
        losses = [sum(loss for loss, _ in model) / samples for model in sums]
        accuracies = [sum(score for _, score in model) / samples for model in sums]
        alike = self.n if agree and workers else 0
        return Scores(
            losses[0],
            accuracies[0],
            losses[1:] or losses * alike,
            accuracies[1:] or accuracies * alike,
        )

    def modules(self) -> list[nn.Module]:
        """The consensus model, as the workers are now, and the workers' models; not to be kept."""
        self._consensus_row.copy_(torch.cat([self.consensus_model(), _mean(self.buffers)]))
        return [self._consensus, *self._workers]


BACKENDS: Registry[Callable[[int | None], Map]] = Registry("backend")


def _loop(threads: int | None = None) -> Map:
    """One worker after another: the reference."""

    def run(f: Callable[[int], T], k: int) -> list[T]:
        return [f(i) for i in range(k)]

    return run


def _threads(threads: int | None = None) -> Map:
    """Workers spread over ``threads`` threads (default: the cores this process may use)."""
    pool = ThreadPoolExecutor(threads or cores(), initializer=torch.set_num_threads, initargs=(1,))

    def run(f: Callable[[int], T], k: int) -> list[T]:
        return list(pool.map(f, range(k)))

    return run


BACKENDS.add("loop", _loop)
BACKENDS.add("threads", _threads)


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS can't say which cores a process may use
        return os.cpu_count() or 1


def _parameters(module: nn.Module) -> list[torch.Tensor]:
    return list(module.parameters())


def _buffers(module: nn.Module) -> list[torch.Tensor]:
    """The buffers that evaluation reads (not the count of batches, a whole number)."""
    return [buffer for buffer in module.buffers() if buffer.is_floating_point()]


def _mean(rows: torch.Tensor) -> torch.Tensor:
    return rows.double().mean(0).to(rows.dtype)


def _bind(
    tensors: list[torch.Tensor], row: torch.Tensor, gradient: torch.Tensor | None = None
) -> None:
    """Make a module's tensors views of ``row`` (which takes their values), in order.

    Kernels of convolutions lie there with their channels last, the layout in which the CPU's
    convolutions and poolings are fastest.
    """
    start = 0
    for tensor in tensors:
        stop = start + tensor.numel()
        view = _view(row[start:stop], tensor)
        view.copy_(tensor.detach())
        tensor.data = view
        if gradient is not None:
            tensor.grad = _view(gradient[start:stop], tensor)
        start = stop


def _view(flat: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    if like.dim() != 4:
        return flat.view(like.shape)
    out, channels, height, width = like.shape
    return flat.view(out, height, width, channels).permute(0, 3, 1, 2)
