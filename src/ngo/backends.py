"""How the gradients of n workers are computed: backends, which agree to float tolerance.

``loop`` does one worker after another and is the reference; ``threads`` spreads workers over
threads, with the same bytes. ``vmap`` does all of them at once (a convolution of n workers is one
grouped convolution): slower than the loop on a CPU, made for small models on a GPU. ``graphs``
replays each worker's step as a CUDA graph, for larger models, whose time goes into launches.

``auto`` is ``threads`` on a CPU, always, so that the bytes are the same everywhere. On a GPU it
times the others on the first batch, with the run's state and random streams put back after each,
and takes the fastest that agrees with the loop.

(torch is imported where it is used, so that the names can be checked without its start-up cost.)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ngo import pool
from ngo.registry import Registry, UserError, in_a_line, unknown

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ngo.tasks import Task

    Batch = tuple[torch.Tensor, torch.Tensor]


class Batches(Protocol):
    """What the workers train on in one step; it can be taken once."""

    def all(self) -> Batch:
        """All workers' inputs ``[n, b, …]`` and targets ``[n, b, …]``."""


class Workers(Protocol):
    """What a backend works on: the rows of X and G that are each module's parameters and gradients
    (see :class:`ngo.population.Population`).
    """

    n: int
    X: torch.Tensor
    G: torch.Tensor
    buffers: torch.Tensor
    networks: list[nn.Module]
    generators: list[torch.Generator]
    task: Task
    spread: pool.Map
    precision: str
    backend: str

    def stacked(self) -> tuple[dict[str, torch.Tensor], ...]:
        """Parameters, gradients and buffers by name, all workers' ``[n, *shape]`` at once."""


@dataclass(frozen=True)
class Stacked:
    """Batches that are there already: inputs ``[n, b, …]`` and targets ``[n, b, …]``."""

    inputs: torch.Tensor
    targets: torch.Tensor

    def all(self) -> Batch:
        """As they are."""
        return self.inputs, self.targets


Gradients = Callable[[Batches], "torch.Tensor"]
BACKENDS: Registry[Callable[[Workers], Gradients]] = Registry("backend")

# Mixed precision: forward and backward passes in this type where torch holds that to be safe;
# parameters, consensus and evaluation stay in float32.
PRECISIONS: Registry[str] = Registry("precision")
PRECISIONS.add("float32", "float32")
PRECISIONS.add("bfloat16", "bfloat16")


def build(workers: Workers, name: str) -> Gradients:
    """The function of that backend: puts gradients into ``workers.G``, returns the losses."""
    if name not in BACKENDS:
        raise unknown("backend", name, BACKENDS)
    return BACKENDS[name](workers)


def _loop(workers: Workers, spread: pool.Map = pool.in_order) -> Gradients:
    import torch

    def gradients(batches: Batches) -> torch.Tensor:
        inputs, targets = batches.all()

        def worker(i: int) -> torch.Tensor:
            return _backward(workers, i, inputs[i], targets[i])

        return torch.stack(spread(worker, workers.n))

    return gradients


def _threads(workers: Workers) -> Gradients:
    return _loop(workers, workers.spread)


def _backward(
    workers: Workers, i: int, inputs: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """Worker i's gradient into its row of G; its loss."""
    workers.G[i].zero_()
    with _precision(workers):
        outputs = workers.networks[i](inputs)
    loss = workers.task.loss(_float32(outputs), targets).mean()
    loss.backward()
    return loss.detach()


@contextmanager
def _precision(workers: Workers) -> Iterator[None]:
    import torch

    if workers.precision == "float32":
        yield
        return
    dtype = getattr(torch, workers.precision)
    # Its cache of converted weights would outlive a step inside a CUDA graph.
    with torch.autocast(workers.X.device.type, dtype, cache_enabled=False):
        yield


def _float32(outputs: torch.Tensor | tuple[torch.Tensor, ...]):
    """A model's output (or the several of an autoencoder) for the loss, which needs the digits."""
    if isinstance(outputs, tuple):
        return tuple(map(_float32, outputs))
    return outputs.float()


def _vmap(workers: Workers) -> Gradients:
    import torch
    from torch.func import functional_call, grad_and_value, vmap

    from ngo.layers import Draw, recorded, replayed

    module = workers.networks[0]
    parameters, slopes, buffers = workers.stacked()

    def loss(parameters, buffers, inputs, targets, noise):
        with replayed(noise), _precision(workers):
            outputs = functional_call(module, {**parameters, **buffers}, (inputs,))
        return workers.task.loss(_float32(outputs), targets).mean()

    step = vmap(grad_and_value(loss))
    counts = {  # of batches, in batch normalization; nobody reads them
        name: torch.zeros(workers.n, dtype=buffer.dtype, device=buffer.device)
        for name, buffer in module.named_buffers()
        if name not in buffers
    }
    draws: dict[torch.Size, list[Draw]] = {}  # by the shape of a batch

    def gradients(batches: Batches) -> torch.Tensor:
        inputs, targets = batches.all()
        if inputs.shape not in draws:
            draws[inputs.shape] = []
            copies = {name: buffer[0].clone() for name, buffer in {**buffers, **counts}.items()}
            with torch.no_grad(), recorded(draws[inputs.shape]):
                functional_call(module, copies, (inputs[0],))
        noise = tuple(
            torch.stack([draw(generator) for generator in workers.generators])
            for draw in draws[inputs.shape]
        )
        # Batch normalization changes its own in place, which vmap does to contiguous tensors only.
        own = {name: buffer.contiguous() for name, buffer in buffers.items()}
        found, losses = step(parameters, {**own, **counts}, inputs, targets, noise)
        for name, buffer in buffers.items():
            buffer.copy_(own[name])
        for name, slope in slopes.items():
            slope.copy_(found[name])
        return losses.detach()

    return gradients


def _graphs(workers: Workers) -> Gradients:
    import torch

    if not workers.X.is_cuda:
        raise UserError("backend: 'graphs' needs a GPU; use auto, loop, threads or vmap here.")
    captured: dict[torch.Size, tuple] = {}  # by the shape of the batches

    def capture(inputs: torch.Tensor, targets: torch.Tensor) -> tuple:
        inputs, targets = inputs.clone(), targets.clone()
        losses = torch.empty(workers.n, device=inputs.device)
        graphs, memory = [], None

        def step(i: int) -> None:
            losses[i] = _backward(workers, i, inputs[i], targets[i])

        with kept(workers):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):  # libraries set themselves up outside of a capture
                for i in range(workers.n):
                    step(i)
            torch.cuda.current_stream().wait_stream(side)
        for i in range(workers.n):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=memory, stream=side):
                step(i)
            memory = graph.pool()
            graphs.append(graph)
        return inputs, targets, losses, graphs

    def gradients(batches: Batches) -> torch.Tensor:
        inputs, targets = batches.all()
        with torch.cuda.device_of(workers.X):  # streams, captures and replays are the current one's
            if inputs.shape not in captured:
                captured[inputs.shape] = capture(inputs, targets)
            own_inputs, own_targets, losses, graphs = captured[inputs.shape]
            own_inputs.copy_(inputs)
            own_targets.copy_(targets)
            for graph in graphs:
                graph.replay()
        return losses.clone()

    return gradients


def _auto(workers: Workers) -> Gradients:
    if not workers.X.is_cuda:
        workers.backend = "threads"
        return _threads(workers)
    chosen: list[Gradients] = []

    def gradients(batches: Batches) -> torch.Tensor:
        if not chosen:
            batches = Stacked(*batches.all())
            workers.backend = fastest(workers, batches)
            chosen.append(build(workers, workers.backend))
        return chosen[0](batches)

    return gradients


BACKENDS.add("auto", _auto)
BACKENDS.add("loop", _loop)
BACKENDS.add("threads", _threads)
BACKENDS.add("vmap", _vmap)
BACKENDS.add("graphs", _graphs)


def fastest(
    workers: Workers,
    batches: Stacked,
    names: tuple[str, ...] = ("loop", "graphs", "vmap"),
    steps: int = 5,
) -> str:
    """The backend that is fastest on ``batches``, of those that agree with the first of ``names``.

    They have to agree on a second batch and state, too: a graph that was captured empty, or reads
    what is no longer the batch, has the first's gradients. Leaves the workers and their random
    streams as they were. A backend that fails (an operation that vmap does not know, too little
    memory) or disagrees is passed over, with a line on standard error.
    """
    seconds: dict[str, float] = {}
    expected = None
    for name in names:
        try:
            gradients = build(workers, name)
            found = _tried(workers, gradients, batches)
            with kept(workers):
                gradients(batches)
                _wait(workers)
                start = time.perf_counter()
                for _ in range(steps):
                    gradients(batches)
                _wait(workers)
                taken = time.perf_counter() - start
        except Exception as error:  # of whatever kind: the loop is there
            if expected is None:
                raise
            _pass_over(name, in_a_line(error))
            continue
        if expected is None:
            expected = found
        if found is expected or _agree(expected, found):
            seconds[name] = taken
        else:
            _pass_over(name, f"its gradients are not those of {names[0]!r}")
    return min(seconds, key=seconds.get)


def _pass_over(name: str, reason: str) -> None:
    print(f"backend: auto passes over {name!r}: {reason}", file=sys.stderr)


def _tried(workers: Workers, gradients: Gradients, batches: Stacked) -> list[torch.Tensor]:
    """Losses and gradients on ``batches``, and those of another state on other batches."""
    others = Stacked(batches.inputs / 2, batches.targets.flip(0, 1))
    with kept(workers):
        found = [gradients(batches), workers.G.clone()]
        workers.X.div_(2)
        return [*found, gradients(others), workers.G.clone()]


def _agree(expected: list[torch.Tensor], found: list[torch.Tensor]) -> bool:
    """Whether losses and gradients differ by rounding only: 1 % of their norm, as in bfloat16."""
    return all(
        bool((a - b).norm() <= 0.01 * a.norm()) for a, b in zip(expected, found, strict=True)
    )


@contextmanager
def kept(workers: Workers) -> Iterator[None]:
    """Put parameters, buffers and random streams back at the end."""
    state = workers.X.clone(), workers.buffers.clone()
    streams = [generator.get_state() for generator in workers.generators]
    try:
        yield
    finally:
        for rows, before in zip((workers.X, workers.buffers), state, strict=True):
            rows.copy_(before)
        for generator, stream in zip(workers.generators, streams, strict=True):
            generator.set_state(stream)


def _wait(workers: Workers) -> None:
    import torch

    if workers.X.is_cuda:
        torch.cuda.synchronize(workers.X.device)
