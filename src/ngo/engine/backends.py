"""Backends: how the gradients of n workers are computed. All agree up to rounding.

Each worker by itself, CUDA graphs, vmap, compiled code, and the one that suits. Names are known
without importing torch.
"""

from __future__ import annotations

import ctypes
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ngo.common.devices import set_float32
from ngo.common.fields import registers
from ngo.common.lazy import Tensor, torch
from ngo.common.registries import BACKENDS, INITIALIZATIONS, PRECISIONS, SAME
from ngo.models.task import Batch, over_tensors
from ngo.native.build import available
from ngo.native.card_streams import CardStreams
from ngo.native.elementwise import HalfStep
from ngo.native.layer_chain import Chain
from ngo.native.threads import Map, call, in_order
from verdicts.registry import UserError, in_a_line

if TYPE_CHECKING:
    from ngo.engine.population import Population, Stack


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


#: The workers of one run, or of several.
Workers: TypeAlias = "Population | Stack"


@dataclass(frozen=True)
class Scores:
    """Mean loss and accuracy on a set of samples, for the consensus model and some workers.

    The accuracy is NaN for a task without one; the lists are empty if no worker was evaluated.
    """

    consensus_loss: float
    consensus_accuracy: float
    worker_losses: list[float]
    worker_accuracies: list[float]


#: Tensors by name.
Named: TypeAlias = "dict[str, Tensor]"

# Puts the gradients of the batches' workers into ``workers.G``; returns their losses ``[k]``.
# On a CPU, ``compiled``, ``threads`` and ``loop`` also take a half step of each worker.
Gradients = Callable[..., "Tensor"]
Backend = Callable[[Workers], Gradients]

# Of forward and backward passes: bfloat16 where torch considers it safe, or products and
# convolutions in TF32. Parameters, exchanges and evaluations stay in float32.
for _name in ("float32", "bfloat16", "tf32"):
    PRECISIONS.add(_name, _name)


def backend(name: str, *, version: int = 1) -> Callable[[Backend], Backend]:
    """Register a function that makes a backend's ``Gradients`` for workers.

    ``version`` is raised when its results change.
    """
    return registers(BACKENDS, name, lambda build, _: build, version=version)


def trained(module: torch.nn.Module) -> list[tuple[Any, Any]]:
    """The parameters that are trained, and their gradients' places in ``G``."""
    return [(x, x.grad) for x in module.parameters() if x.requires_grad]


def backward(
    workers: Workers,
    i: int,
    inputs: Tensor,
    targets: Tensor,
    then: HalfStep | None = None,
    places: Sequence[tuple[Any, Any]] = (),
) -> Tensor:
    """Write worker i's gradient to its row of ``G``; return its loss.

    Autograd's are copied there while they are in the cache: to add them up takes two more passes.
    Or X takes the half step ``then`` with them, and ``G`` is not written. ``places`` are by default
    all of the worker's module.
    """
    places = places or trained(workers.modules[i])
    try:
        for parameter, _ in places:
            parameter.grad = None
        with workers.drawing(workers.generators[i]):
            with autocast(workers):
                outputs = workers.modules[i](inputs)
            losses = workers.task.loss(in_float32(outputs), targets)
            loss = losses.mean() if losses.dim() else losses
            loss.backward()
        pieces: list[int] = []
        for parameter, place in places:
            found = parameter.grad
            kept = then and found is not None and not found.is_sparse
            if not kept or found.stride() != place.stride():
                place.zero_() if found is None else place.copy_(found.to_dense())
                found = place
            pieces += parameter.data_ptr(), found.data_ptr(), place.numel()
        if then is not None:
            table = (ctypes.c_int64 * len(pieces))(*pieces)
            call("ngo_half_steps", ctypes.byref(then), workers.X, table, len(places))
    finally:
        for parameter, place in places:
            parameter.grad = place
    return loss.detach()


def autocast(workers: Workers) -> AbstractContextManager[None]:
    """Forward passes in bfloat16, if that is the workers' precision."""
    if workers.precision != "bfloat16":
        return nullcontext()
    # The cache of converted weights would outlive a step inside a CUDA graph.
    return torch.autocast(workers.X.device.type, torch.bfloat16, cache_enabled=False)


@contextmanager
def tf32(workers: Workers) -> Iterator[None]:
    """Products and convolutions in TF32, if that is the workers' precision."""
    with ExitStack() as passes:
        if workers.precision == "tf32":
            set_float32("tf32")
            passes.callback(set_float32, "ieee")
        yield


def in_float32(outputs: Any) -> Any:
    """A model's output in the precision of the loss (see ``over_tensors``)."""
    return over_tensors(lambda x: x.float() if x.is_floating_point() else x, outputs)


@contextmanager
def restored(workers: Workers) -> Iterator[None]:
    """Restore parameters, buffers and random streams at the end of the block."""
    matrices = workers.X, workers.buffers, workers.counts, workers.noise
    state = [rows.clone() for rows in matrices]
    streams = [generator.get_state() for generator in workers.generators]
    try:
        yield
    finally:
        for rows, before in zip(matrices, state, strict=True):
            rows.copy_(before)
        for generator, stream in zip(workers.generators, streams, strict=True):
            generator.set_state(stream)


def same(worker: int) -> None:
    """All workers start from one draw."""


def by_worker(worker: int) -> int:
    """Each worker starts from its own draw."""
    return worker


INITIALIZATIONS.add(SAME, same, same)
INITIALIZATIONS.add("by_worker", by_worker, by_worker)


@backend("loop")
def loop(workers: Workers) -> Gradients:
    """One worker after another."""
    return _by_worker(workers, in_order)


@backend("threads")
def threads(workers: Workers) -> Gradients:
    """Several workers at a time, on the threads of ``workers.spread``; the bytes are ``loop``'s."""
    return _by_worker(workers, workers.spread)


def _by_worker(workers: Workers, spread: Map) -> Gradients:
    modules = list(workers.modules)  # builds them in this thread
    places = [trained(module) for module in modules]
    compiled: Callable[..., AbstractContextManager[None]] = nullcontext
    read: Callable[[], Sequence[Any]] = partial(range, workers.n)
    told: list[str] = []
    if workers.brought and workers.X.is_cpu and workers.precision == "float32" and available():
        from ngo.engine import operations  # torch's modules

        compiled = operations.operations
        read = cache(lambda: [*map(operations.layers_of, modules)])

    def gradients(batches: Batches, then: HalfStep | None = None) -> Tensor:
        inputs, targets = batches.all()
        rows, layers = range(workers.n) if batches.workers is None else batches.workers, read()

        def worker(k: int) -> Tensor:
            i = rows[k]
            # Autograd counts changes in place of .data apart from those by other workers' modules.
            with compiled(layers[i]):
                batch = inputs[k].data, targets[k].data
                return backward(workers, i, *batch, then, places[i])

        before = torch.get_rng_state()
        losses = torch.stack(spread(worker, len(rows)))
        if not (told or torch.equal(torch.get_rng_state(), before)):
            told.append("it draws by torch now, but did not at first, so equal runs may differ")
            log.warning("module: %s; let each of its passes draw, by torch.rand(()), say", *told)
        return losses

    return gradients


def _captured(
    workers: Workers,
    losses: Tensor,
    steps: Sequence[Callable[[Tensor, Tensor], object]],
    streams: Sequence[Sequence[torch.Generator]],
) -> Gradients:
    """Gradients by CUDA graphs of ``steps``: one for each worker, or one for all.

    A step takes the inputs and targets of all workers, draws from its ``streams``, and writes its
    workers' ``losses`` ``[n]``. Graphs are captured once for each shape of a batch, and replayed.
    """
    captured: dict[torch.Size, tuple[Tensor, Tensor, list[torch.cuda.CUDAGraph]]] = {}

    def capture(batch: Batch) -> tuple[Tensor, Tensor, list[torch.cuda.CUDAGraph]]:
        inputs, targets = (x[:1].repeat(workers.n, *[1] * (x.dim() - 1)) for x in batch)
        side, memory, graphs = torch.cuda.Stream(), None, []
        with restored(workers):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):  # libraries initialize themselves outside of a capture
                for step in steps:
                    step(inputs, targets)
            torch.cuda.current_stream().wait_stream(side)
        for step, generators in zip(steps, streams, strict=True):
            graph = torch.cuda.CUDAGraph()
            # Layers draw from the worker's stream, which each replay has to move on.
            for generator in generators:
                graph.register_generator_state(generator)
            try:
                with torch.cuda.graph(graph, pool=memory, stream=side):
                    step(inputs, targets)
            except RuntimeError as error:
                if isinstance(error.__context__, torch.OutOfMemoryError):
                    raise error.__context__ from None  # which the end of a failed capture hides
                raise
            memory = graph.pool()
            graphs.append(graph)
        return inputs, targets, graphs

    def gradients(batches: Batches) -> Tensor:
        batch, chosen = batches.all(), batches.workers
        rows = slice(None) if chosen is None else list(chosen)
        with torch.cuda.device_of(workers.X):  # for streams, captures and replays
            shape = batch[0].shape[1:]
            if shape not in captured:
                captured[shape] = capture(batch)
            *places, graphs = captured[shape]
            for place, new in zip(places, batch, strict=True):
                place[rows] = new
            for i in range(len(graphs)) if chosen is None else chosen:
                graphs[i].replay()
        return losses[rows].clone()

    return gradients


@backend("graphs")
def cuda_graphs(workers: Workers) -> Gradients:
    """One CUDA graph for each worker and shape of its batch; a UserError without a GPU."""
    if not workers.X.is_cuda:
        raise UserError("backend: 'graphs' needs a GPU; use auto, loop, threads or vmap here.")
    losses = torch.empty(workers.n, device=workers.X.device)

    def step(i: int, inputs: Tensor, targets: Tensor) -> None:
        losses[i] = backward(workers, i, inputs[i], targets[i])

    steps = [partial(step, i) for i in range(workers.n)]
    return _captured(workers, losses, steps, [[generator] for generator in workers.generators])


@backend("vmap")
def vmap(workers: Workers) -> Gradients:
    """Gradients by ``torch.func.vmap`` over the workers; on a GPU, of all in one CUDA graph."""
    take, losses = _vmapped(workers), torch.empty(workers.n, device=workers.X.device)

    def step(inputs: Tensor, targets: Tensor) -> None:
        losses.copy_(take(inputs, targets, None))

    replayed = _captured(workers, losses, [step], [workers.generators])

    def gradients(batches: Batches) -> Tensor:
        if batches.workers is None and workers.X.is_cuda:
            return replayed(batches)
        return take(*batches.all(), batches.workers)

    return gradients


def _vmapped(workers: Workers) -> Callable[[Tensor, Tensor, Sequence[int] | None], Tensor]:
    """What writes the gradients of some workers, by default all, and returns their losses.

    It takes their inputs ``[k, b, …]``, their targets, and their rows in ``X``.
    """
    from torch.func import grad_and_value
    from torch.func import vmap as over_workers

    from ngo.models.layers import Sample, called, hooked, recorded, replayed  # torch's modules

    module = workers.modules[0]
    if hooked(module):
        raise UserError("backend: 'vmap' leaves out parameters' hooks; use auto, loop or threads.")
    parameters, floats, counts = workers.views_of(workers.X, workers.buffers, workers.counts)
    (gradients_by_name,) = workers.views_of(workers.G)
    buffers = {**floats, **counts}

    def loss(models: Named, buffers: Named, batch: Batch, noise: tuple[Tensor, ...]) -> Tensor:
        inputs, targets = batch
        with replayed(module, noise), autocast(workers):
            outputs = called(module, {**models, **buffers}, inputs)
        return workers.task.loss(in_float32(outputs), targets).mean()

    step = over_workers(grad_and_value(loss))
    draws: dict[torch.Size, list[Sample]] = {}  # by the shape of a worker's batch

    def take(inputs: Tensor, targets: Tensor, numbers: Sequence[int] | None) -> Tensor:
        chosen = range(workers.n) if numbers is None else numbers
        rows: Any = slice(None) if numbers is None else torch.tensor(numbers, device=inputs.device)
        shape = inputs.shape[1:]
        if shape not in draws:
            draws[shape] = []
            copies = {name: buffer[0].clone() for name, buffer in buffers.items()}
            with torch.no_grad(), recorded(module, draws[shape]):
                called(module, copies, inputs[0].clone())
        streams = CardStreams(workers.noise, rows) if workers.noise.numel() else None
        noise = tuple(
            draw(streams) if streams else torch.stack([draw(workers.generators[i]) for i in chosen])
            for draw in draws[shape]
        )
        # Batch normalization updates its buffers in place, which vmap allows for contiguous ones.
        local = {name: buffer[rows].contiguous() for name, buffer in buffers.items()}
        models = {name: parameter[rows] for name, parameter in parameters.items()}
        try:
            computed, losses = step(models, local, (inputs, targets), noise)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise UserError(
                f"backend: 'vmap' fails on this model ({in_a_line(error)}); use auto, loop or "
                f"threads here."
            ) from error
        for all_rows, values in ((buffers, local), (gradients_by_name, computed)):
            for name, tensor in all_rows.items():
                new = values[name].detach()  # of a tensor that is no parameter
                if numbers is None:
                    tensor.copy_(new)
                else:
                    tensor[rows] = new
        return losses.detach()

    return take


@backend("compiled")
def compiled(workers: Workers) -> Gradients:
    """Gradients by the workers' chain; a UserError for modules that are none."""
    chain = workers.chain
    if chain is None:
        raise UserError(
            "backend: 'compiled' takes chains of known layers, in float32 on a CPU, and this model "
            "is none; use auto, loop, threads or vmap here."
        )

    def gradients(batches: Batches, then: HalfStep | None = None) -> Tensor:
        if chain.of_batches and not workers.modules[0].training:
            return BACKENDS["loop"](workers)(batches, then)
        rows, of = batches.rows(), batches.workers
        b = len(rows.inputs) // rows.n if rows.samples is None else rows.samples.shape[1]
        own: Any = {"samples": rows.samples, "shades": rows.shades}
        own["noise"] = _noise(workers, chain, b, of)
        if chain.of_batches:
            own["buffers"] = workers.buffers
            workers.counts[slice(None) if of is None else list(of)] += 1
        matrices = workers.X, workers.G, rows.inputs, rows.targets
        return chain.gradients(*matrices, models=of, then=then, **own)

    return gradients


def _noise(workers: Workers, chain: Chain, b: int, of: Sequence[int] | None) -> Tensor | None:
    """The random numbers of the layers (see ``Chain.gradients``), for b samples of some workers.

    Each comes from its worker's stream, and is the one that the layer itself would draw.
    """
    numbered = range(workers.n) if of is None else of
    if not chain.draws:
        return None
    if not workers.modules[0].training:
        drawn = chain.evaluation_noise(b)
        return None if drawn is None else drawn.flatten().repeat(len(numbered), 1)
    random = [layer for layer in chain.layers if layer.draws]
    sizes = [b * layer.draws for layer in random]
    numbers = torch.empty(len(numbered), b * chain.draws)

    def draw(k: int) -> None:
        generator = workers.generators[numbered[k]]
        for layer, row in zip(random, numbers[k].split(sizes), strict=True):
            if layer.constant:
                row.bernoulli_(layer.constant, generator=generator)
            else:
                row.normal_(generator=generator)

    workers.spread(draw, len(numbered))
    return numbers


log = logging.getLogger("ngo")

# On a CPU, vmap is for at least so many workers, with at most so many parameters each, and at most
# so many parameters times samples in a batch. Within these bounds it was 1.5 to 60 times as fast as
# threads; with a few more samples, or with convolutions, it was slower.
LEAST_WORKERS = 16
MOST_PARAMETERS = 100_000
MOST_WORK = 1_000_000

# On a GPU, a CUDA graph for each worker is for at most so many of one run: to capture one takes a
# hundredth of a second.
MOST_GRAPHS = 64

# The number of workers whose gradients are compared with those of plain autograd.
COMPARED = 16


@backend("auto")
def auto(workers: Workers) -> Gradients:
    """On a CPU ``compiled``, ``vmap`` for many small models, or ``threads``; on a GPU ``graphs`` or
    ``vmap``.

    The choice depends on the module, the numbers of workers, parameters and samples, and on whether
    gradients agree. The same run therefore has the same bytes on the same kind of CPU. On a GPU,
    where ``graphs`` and ``vmap`` are for the workers of one run, it is a timing of ten steps.
    """
    on_cpu, why = not workers.X.is_cuda, "the module is no chain of known layers"
    if workers.chain is not None and not workers.chain.pays:
        workers.chain, why = None, "torch's convolutions without pooling are faster than a chain's"
    if on_cpu and workers.chain is None and not _small(workers):
        workers.backend, workers.reason = "threads", f"auto: {why}, and they are not many small"
        return BACKENDS["threads"](workers)
    workers.reason = "auto"
    chosen: list[Gradients] = []

    def gradients(batches: Batches, then: HalfStep | None = None) -> Tensor:
        if not chosen:
            batches = Stacked(*batches.all(), batches.workers)
            *names, name = ways = _ways(workers, batches.targets.shape[1])
            agreed: Any = (
                (each, take) for each in names if (take := agrees(workers, batches, each))
            )
            if timed := names[:1] == ["graphs"]:
                agreed = iter(sorted(agreed, key=lambda way: _seconds(workers, way[1], batches)))
            name, take = next(agreed, (name, None))
            workers.backend = name
            order = "fastest" if timed else "first"
            workers.reason += f": the {order} that fits of {', '.join(ways)}"
            if name != "compiled":
                workers.chain = None
            chosen.append(take or BACKENDS[name](workers))
        return chosen[0](batches) if then is None else chosen[0](batches, then)

    return gradients


def _ways(workers: Workers, b: int) -> list[str]:
    """The backends for batches of b samples, in the order of their speed; the last one always fits.

    On a CPU ``compiled`` is for a chain, and ``vmap`` for small batches; on a GPU ``graphs`` are
    for few workers of one run, and the faster of them and ``vmap`` is measured.
    """
    n, d = workers.X.shape
    if workers.X.is_cuda:
        few = n <= MOST_GRAPHS and workers.runs == 1
        ways = ("graphs", "vmap") if few else ("vmap", "graphs")
        return [*(ways if not workers.draws else ()), "loop"]
    names = {"compiled": workers.chain is not None, "vmap": _small(workers) and b * d <= MOST_WORK}
    return [*(name for name, fits in names.items() if fits), "threads"]


def _seconds(workers: Workers, gradients: Gradients, batches: Stacked) -> float:
    """The seconds that five steps take on a GPU."""
    with restored(workers):
        start = time.perf_counter()
        [gradients(batches) for _ in range(5)][-1].tolist()  # waits for the last
        return time.perf_counter() - start


def _small(workers: Workers) -> bool:
    """Whether there are many workers with a small module, whose parameters are no convolutions'."""
    n, d = workers.X.shape
    flat = all(x.dim() <= 2 for x in workers.modules[0].parameters() if x.requires_grad)
    return n >= LEAST_WORKERS and d <= MOST_PARAMETERS and flat and not workers.draws


def agrees(workers: Workers, batches: Stacked, name: str) -> Gradients | None:
    """A backend, if its gradients are those of plain autograd for the first workers; else None.

    Losses and gradients may differ by 1 % of their norm, or by 10 % at a lower precision than
    float32: by rounding. A chain must have the module's losses in evaluation, too. Where autograd's
    are not finite, any others are as good.

    They are compared on ``batches``, and on other batches in another state: a CUDA graph that was
    captured empty, or that reads an outdated batch, would repeat the first gradients. Workers and
    random streams are restored. If the backend fails (an operation that vmap lacks, too little
    memory), disagrees, or takes workers one after another where an operation has no other way, the
    log has a line that says so.
    """
    first = list(range(workers.n) if batches.workers is None else batches.workers)[:COMPARED]

    def autograd(batches: Batches) -> Tensor:
        samples = zip(first, *batches.all(), strict=False)
        return torch.stack([backward(workers, i, *batch) for i, *batch in samples])

    expected = _tried(workers, autograd, batches, first)
    reason = "its gradients are not those of plain autograd"
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="There is a performance drop")
            tried = _tried(workers, made := BACKENDS[name](workers), batches, first)
        # Measured on an H200: up to 3.6 % between two ways of computing in bfloat16.
        most = 0.01 if workers.precision == "float32" else 0.1
        pairs = [(a[a.isfinite()], b[a.isfinite()]) for a, b in zip(expected, tried, strict=True)]
        alike = all((a - b).norm() <= most * a.norm() for a, b in pairs)
        if alike and (name != "compiled" or _evaluates(workers, first[0], batches)):
            return made
        reason = "its losses are not those of the module" if alike else reason
    except torch.OutOfMemoryError as error:
        if workers.runs > 1:  # fewer may fit
            raise
        reason = in_a_line(error)
    except Exception as error:
        reason = in_a_line(error)
    log.warning("backend: auto skips %r: %s", name, reason)
    workers.reason += f" skips {name!r} ({reason})"
    return None


def _evaluates(workers: Workers, i: int, batches: Stacked) -> bool:
    """Whether worker i's chain has the losses of its module in evaluation, up to 1 %."""
    samples, module = [each[:1] for each in batches.all()], workers.modules[i]
    chain: Any = workers.chain
    inputs, targets = (each[0] for each in samples)
    try:
        with torch.no_grad():
            expected = workers.task.loss(module.eval()(inputs), targets).double().mean()
    finally:
        module.train()
    if chain.of_batches:
        return True
    (loss, _), *_ = chain.scores(workers.X[[i]], *samples)
    off = loss / len(targets) - expected
    return not expected.isfinite() or bool(off.abs() <= 0.01 * expected.abs())


def _tried(
    workers: Workers, gradients: Gradients, batches: Stacked, rows: Sequence[int]
) -> list[Tensor]:
    """Losses and gradients of the first ``rows`` on ``batches``, then on others elsewhere."""
    inputs, k = batches.inputs, len(rows)
    other = inputs / 2 if inputs.is_floating_point() else inputs.flip(0, 1)  # tokens stay whole
    others = Stacked(other, batches.targets.flip(0, 1), batches.workers)
    with restored(workers):
        first = [gradients(batches)[:k], workers.G[rows]]
        workers.X.div_(2)
        return [*first, gradients(others)[:k], workers.G[rows]]
