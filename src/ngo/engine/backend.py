"""Backends: how the gradients of n workers are computed. All agree up to rounding.

Names are known without importing torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from ngo.common.lazy import Tensor, nn, torch
from ngo.common.registry import Registry, unknown
from ngo.models.task import Batch, Task
from ngo.native.layer_chain import Chain
from ngo.native.pool import Map


class Batches(Protocol):
    """The samples of a step's workers, to be read once."""

    @property
    def workers(self) -> Sequence[int] | None:
        """The workers that take the step, by their rows in ``X``; None: all."""

    def all(self) -> Batch:
        """These workers' inputs ``[k, b, …]`` and targets ``[k, b, …]``."""

    def rows(self) -> Rows:
        """The same samples, not copied where that is possible."""


@dataclass(frozen=True)
class Stacked:
    """Batches in memory: inputs ``[k, b, …]`` and targets ``[k, b, …]``."""

    inputs: Tensor
    targets: Tensor
    workers: Sequence[int] | None = None

    def all(self) -> Batch:
        """Copies of the inputs and targets, which a user's module or loss may change."""
        return self.inputs.clone(), self.targets.clone()

    def rows(self) -> Rows:
        """The inputs and targets as rows, one worker's after another's."""
        return Rows(len(self.inputs), self.inputs.flatten(0, 1), self.targets.flatten(0, 1))


@dataclass(frozen=True)
class Rows:
    """Batches of ``n`` workers as rows of inputs ``[m, …]`` and targets ``[m, …]``.

    ``samples`` ``[n, b]`` are the rows of each worker; without them, m is n · b, and the rows are
    in the order of the workers. With ``shades`` ``[c, 256]``, the inputs are uint8 images: the
    value v of channel c stands for ``shades[c, v]``.
    """

    n: int
    inputs: Tensor
    targets: Tensor
    samples: Tensor | None = None
    shades: Tensor | None = None


class Workers(Protocol):
    """The workers of a backend (see ``population.Population``).

    The parameters of a module are a row of ``X``, and its gradients a row of ``G``.
    """

    X: Tensor
    G: Tensor
    buffers: Tensor
    counts: Tensor
    modules: Sequence[nn.Module]
    generators: list[torch.Generator]
    task: Task
    spread: Map
    #: The number of threads of ``spread``.
    threads: int
    precision: str
    #: The shape of one input.
    input_shape: tuple[int, ...]
    #: The modules as a chain of layers (see ``engine.inspection``); None if they are not one.
    chain: Chain | None
    #: The name of the backend; ``auto`` replaces it by its choice.
    backend: str

    @property
    def n(self) -> int:
        """The number of workers."""

    def stacked(self) -> tuple[dict[str, Tensor], ...]:
        """Parameters, gradients, float and int64 buffers by name, ``[n, *shape]`` for n workers."""


@dataclass(frozen=True)
class Scores:
    """Mean loss and accuracy on a set of samples, for the consensus model and some workers.

    The accuracy is NaN for a task without one; the lists are empty if no worker was evaluated.
    """

    consensus_loss: float
    consensus_accuracy: float
    worker_losses: list[float]
    worker_accuracies: list[float]


# Puts the gradients of the batches' workers into ``workers.G``; returns their losses ``[k]``.
Gradients = Callable[[Batches], "Tensor"]

BACKENDS: Registry[Callable[[Workers], Gradients]] = Registry("backend")

# Mixed precision: forward and backward passes in this type where torch considers it safe;
# parameters, exchanges and evaluations stay in float32.
PRECISIONS: Registry[str] = Registry("precision")
PRECISIONS.add("float32", "float32")
PRECISIONS.add("bfloat16", "bfloat16")


def backend(
    name: str, *, version: int = 1
) -> Callable[[Callable[[Workers], Gradients]], Callable[[Workers], Gradients]]:
    """Register a function that makes a backend's ``Gradients`` for workers.

    ``version`` is raised when its results change.
    """

    def register(build: Callable[[Workers], Gradients]) -> Callable[[Workers], Gradients]:
        return BACKENDS.add(name, build, build, version)

    return register


def build_backend(workers: Workers, name: str) -> Gradients:
    """The backend ``name`` for these workers; a UserError for an unknown name."""
    if name not in BACKENDS:
        raise unknown("backend", name, BACKENDS)
    return BACKENDS[name](workers)


def backward(workers: Workers, i: int, inputs: Tensor, targets: Tensor) -> Tensor:
    """Write worker i's gradient to its row of ``G``; return its loss."""
    workers.G[i].zero_()
    with autocast(workers):
        outputs = workers.modules[i](inputs)
    loss = workers.task.loss(in_float32(outputs), targets).mean()
    loss.backward()
    return loss.detach()


@contextmanager
def autocast(workers: Workers) -> Iterator[None]:
    """Forward passes in the workers' precision."""
    if workers.precision == "float32":
        yield
        return
    dtype = getattr(torch, workers.precision)
    # The cache of converted weights would outlive a step inside a CUDA graph.
    with torch.autocast(workers.X.device.type, dtype, cache_enabled=False):
        yield


def in_float32(outputs: Any) -> Any:
    """A model's output in the precision of the loss; also tuples, lists and dicts of tensors.

    Outputs of other types do not change.
    """
    if isinstance(outputs, torch.Tensor):
        return outputs.float() if outputs.is_floating_point() else outputs
    if type(outputs) in (tuple, list):
        return type(outputs)(map(in_float32, outputs))
    if type(outputs) is dict:
        return {name: in_float32(each) for name, each in outputs.items()}
    return outputs


@contextmanager
def restored(workers: Workers) -> Iterator[None]:
    """Restore parameters, buffers and random streams at the end of the block."""
    matrices = workers.X, workers.buffers, workers.counts
    state = [rows.clone() for rows in matrices]
    streams = [generator.get_state() for generator in workers.generators]
    try:
        yield
    finally:
        for rows, before in zip(matrices, state, strict=True):
            rows.copy_(before)
        for generator, stream in zip(workers.generators, streams, strict=True):
            generator.set_state(stream)


#: The number of a worker → that of its stream (see ``seeding``); None is the stream of all.
INITIALIZATIONS: Registry[Callable[[int], int | None]] = Registry("initialization")

SAME = "same"


def same(worker: int) -> None:
    """All workers start from one draw."""


def by_worker(worker: int) -> int:
    """Each worker starts from its own draw."""
    return worker


INITIALIZATIONS.add(SAME, same, same)
INITIALIZATIONS.add("by_worker", by_worker, by_worker)
