"""n workers as one ``[n, d]`` parameter matrix.

Row i of ``X`` holds worker i's parameters: the parameters of its module are views of that row, and
their gradients views of row i of ``G``. Methods see the two matrices, models see modules, and
nothing is copied between them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import partial
from threading import RLock
from typing import Any, cast
from weakref import proxy

import torch
from torch import nn
from torch.func import vmap

from ngo.common.registries import BACKENDS, INITIALIZATIONS, MODELS, SAME, TASKS
from ngo.common.seeding import stream_seed, torch_stream
from ngo.engine.backends import Batches, Named, Scores, restored, tf32
from ngo.engine.global_draws import Functions, drawing_from, stream_of_pass
from ngo.engine.module_chain import KINDS, find_chain, leaves_of
from ngo.engine.straight_forward import calls_of, with_rows
from ngo.gossip.consensus_dynamics import weighed_mean
from ngo.models.layers import (
    RandomLayer,
    ViewedConv2d,
    called,
    channels_last,
    of_torch,
    owned,
    replayed,
    with_own_dropout,
)
from ngo.models.model import Model
from ngo.models.task import Task, over_tensors
from ngo.native.card_streams import CardStreams
from ngo.native.elementwise import HalfStep
from ngo.native.threads import cores, in_order, one_intra_op_thread
from ngo.native.threads import threads as over_threads
from verdicts.registry import UserError

log = logging.getLogger("ngo")

Chunks = Sequence[torch.Tensor]

# The most models that are evaluated at a time on a GPU.
MODELS_TOGETHER = 16


class Modules(Sequence[nn.Module]):
    """n modules, each made when it is first used, and kept; it is pickled as a list.

    Thousands of modules take longer to make than a step, and backends that compute all workers at
    once use few of them. Modules are not made in several threads at once.
    """

    def __init__(self, make: Callable[[int], nn.Module], n: int) -> None:
        """``make(i)`` makes module i; it is called once."""
        self._make, self._n, self._lock = make, n, RLock()
        self.made: dict[int, nn.Module] = {}

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(self._n)[i]]
        i = range(self._n)[i]
        with self._lock:
            if i not in self.made:
                self.made[i] = self._make(i)
        return self.made[i]

    def __reduce__(self) -> Any:
        return list, (list(self),)


def tensors(module: nn.Module) -> Named:
    """The module's parameters and buffers, by name."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


@torch.inference_mode(False)
def copies(named: Named) -> Named:
    """Contiguous copies of the tensors, without gradients."""
    contiguous = torch.contiguous_format
    return {name: each.detach().clone(memory_format=contiguous) for name, each in named.items()}


def named_tensors(module: nn.Module) -> tuple[Named, Named, Named]:
    """The module's parameters, its float buffers and its int64 buffers, by their first names.

    Frozen parameters (``requires_grad=False``) are like buffers: no method changes or exchanges
    them. An int64 buffer is, for example, batch normalization's number of batches.
    """
    known: set[int] = set()
    kinds: tuple[Named, Named, Named] = {}, {}, {}
    for name, tensor in owned(module):
        trained = isinstance(tensor, nn.Parameter) and tensor.requires_grad
        kind = 0 if trained else 1 if tensor.is_floating_point() else 2
        if id(tensor) not in known and (kind < 2 or tensor.dtype == torch.int64):
            kinds[kind][name] = tensor
        known.add(id(tensor))
    return kinds


def bind(module: nn.Module, X: torch.Tensor, G: torch.Tensor | None, *rows: torch.Tensor) -> None:
    """Make the module's parameters, their gradients and its buffers views of rows.

    The other ``rows`` are those of buffers and counts, and perhaps a ``noise``: the state of the
    streams on a GPU from which its random layers then draw.
    """
    tensors, (buffers, counts, *noise) = named_tensors(module), rows
    for named, row in zip(tensors, (X, buffers, counts), strict=True):
        for name, view in views(named, row).items():
            named[name].data = view
    if G is not None:
        for name, view in views(tensors[0], G).items():
            tensors[0][name].grad = view
    if noise and noise[0].numel():
        for layer in module.modules():
            if isinstance(layer, RandomLayer):
                layer.generator = CardStreams(noise[0])


def fill(named: Named, rows: torch.Tensor) -> None:
    """Copy tensors into each of ``rows``, in order."""
    for name, view in views(named, rows).items():
        view.copy_(named[name].detach())


def views(named: Named, rows: torch.Tensor) -> dict[str, torch.Tensor]:
    """Views of consecutive pieces of ``rows`` ``[…, d]``, with the tensors' shapes ``[…, *shape]``.

    Those of tensors with their channels last, such as convolution kernels, have them last, too.
    """
    by_name, start = {}, 0
    for name, tensor in named.items():
        piece = rows[..., start : start + tensor.numel()]
        start += tensor.numel()
        # Not is_contiguous, which is also true in both layouts: of one channel, or 1 × 1 kernels.
        if tensor.dim() == 4 and tensor.stride()[1::2] == (1, tensor.shape[1]):
            out, channels, height, width = tensor.shape
            by_name[name] = piece.unflatten(-1, (out, height, width, channels)).movedim(-1, -3)
        else:
            by_name[name] = piece.unflatten(-1, tensor.shape) if tensor.dim() else piece[..., 0]
    return by_name


def laid_out(module: nn.Module, on_cpu: bool, contiguous: bool) -> nn.Module:
    """The module, with its convolutions in the fastest layout that it allows.

    Where it is said, outputs of convolutions are contiguous: as torch's are, or by a copy in a
    chain, which has its own.
    """
    if contiguous:
        if not on_cpu or any(type(x) not in KINDS for x in leaves_of(module)):
            return module
        for layer in module.modules():
            if type(layer) is nn.Conv2d:
                layer.__class__ = ViewedConv2d
    return channels_last(module)


def fails_with_channels_last(module: nn.Module, shape: Sequence[int]) -> bool:
    """Whether the module, by its views for example, fails on images of zeros of this ``shape``
    where its convolutions have their channels last.
    """
    try:
        copied = channels_last(deepcopy(module))
        with torch.no_grad():
            for training in True, False:
                copied.train(training)(torch.zeros(2, *shape))
    except Exception:
        return True
    return False


class Population:
    """The workers of one run.

    All workers start from the same parameters, drawn from the stream (seed, "init"), or, with the
    initialization ``by_worker``, worker i from its own, (seed, "init", i). Worker i draws its
    dropout masks from (seed, "dropout", i), on a GPU from the ``CardStreams`` (seed, "noise", i).
    Buffers (batch normalization's running mean and variance) are local to a worker: methods do not
    exchange them, and a worker is evaluated with its own. The consensus model has the mean
    parameters and the mean float buffers of the workers. Of an int64 buffer, such as the number of
    batches seen, it has the workers' maximum. Buffers of other types do not change in training.
    """

    def __init__(
        self,
        model: str | Model,
        n: int,
        seed: int,
        *,
        task: Task | None = None,
        device: str | torch.device = "cpu",
        backend: str = "auto",
        precision: str = "float32",
        threads: int | None = None,
        workers: Sequence[int] | None = None,
        initialization: str = SAME,
        honest: int | None = None,
        shares: torch.Tensor | None = None,
    ) -> None:
        """``workers`` are the numbers of the n workers, where a run has others too.

        Only the first ``honest`` workers, by default all, are honest. They count ``shares`` ``[n]``
        in the consensus model, by default equally.

        ``task`` is by default that of the model. ``threads`` is the number of threads on a CPU, by
        default as many as the process may use.
        """
        entry = MODELS[model] if isinstance(model, str) else model
        self.task: Task = task or TASKS[entry.task]
        on_cpu = torch.device(device).type == "cpu"
        if precision == "tf32" and on_cpu:
            raise UserError("precision: 'tf32' needs a GPU; use float32 or bfloat16 here.")
        self.precision = precision
        self.input_shape, self.brought = entry.input_shape, entry.brought
        self.draws, self._functions = entry.draws, entry.functions
        self._restores = entry.draws_in_evaluation
        if self.draws and backend not in ("auto", "loop", "threads"):
            told = "can't draw from torch's global stream, as the module does; use auto, loop or"
            raise UserError(f"backend: {backend!r} {told} threads here.")
        several = on_cpu and entry.functions is not None
        self.threads = (threads or cores()) if several else 1
        self.spread = over_threads(self.threads)
        numbers = range(n) if workers is None else workers
        self.generators = [torch_stream(seed, "dropout", i, device) for i in numbers]

        known: list[Any] = []  # of the first module: the layout, and its rows of layers

        def build(generator: torch.Generator, stream: int | None = None) -> nn.Module:
            # Modules draw their initial parameters from torch's global stream: it is seeded here.
            with torch.random.fork_rng(devices=[]):
                # torch.manual_seed would also seed the GPUs' streams, which fork_rng leaves alone.
                torch.default_generator.manual_seed(stream_seed(seed, "init", stream))
                made = entry.build(generator)
                if own := entry.brought and entry.functions is not None:
                    with_own_dropout(made, generator)
                if not known:
                    kinds, shape = {type(x) for x in made.modules()} - KINDS, entry.input_shape
                    others = not all(map(of_torch, kinds))
                    known.append(
                        entry.contiguous or (others and fails_with_channels_last(made, shape))
                    )
                    known.append(calls_of(made, shape, KINDS) if others else {})
                contiguous, calls = known
                if calls:
                    with_rows(made, calls, generator if own else None)
                return laid_out(made, on_cpu, contiguous).to(device).train()

        self._stream = torch_stream(seed, "dropout", None, device)
        self._consensus = build(self._stream).eval()
        self._named = named_tensors(self._consensus)
        d, width, counted = (sum(map(torch.numel, named.values())) for named in self._named)
        self.n, self.d = n, d  # the numbers of workers, and of parameters of one model
        self.X = torch.empty(n, d, device=device)
        self.G = torch.zeros_like(self.X)
        self.buffers = torch.empty(n, width, device=device)
        self.counts = torch.empty(n, counted, device=device, dtype=torch.int64)
        #: The states of the workers' streams on a GPU ``[n]``; on a CPU it is empty.
        self.noise = self.counts.new_empty(n, 0)
        if self.X.is_cuda:
            self.noise = CardStreams.of(seed, "noise", numbers, device).state
        for named, rows in zip(self._named, (self.X, self.buffers, self.counts), strict=True):
            fill(named, rows)
        for k, i in enumerate(numbers):
            if (stream := INITIALIZATIONS[initialization](i)) is not None:
                fill(named_tensors(build(self.generators[k], stream))[0], self.X[k])
        row, counts = torch.empty(d + width, device=device), torch.empty_like(self.counts[0])
        bind(self._consensus, row[:d], None, row[d:], counts)
        self._consensus_row, self._consensus_counts = row, counts

        # What the population holds refers to it weakly: it is freed when it is dropped.
        me: Any = proxy(self)
        self._weak = me

        def worker(i: int) -> nn.Module:
            module = build(me.generators[i])
            bind(module, *(matrix[i] for matrix in me.rows()))
            return module

        self.modules = Modules(worker, n)
        self.runs = 1  # whose workers they are
        #: Whether the consensus model is a server's: what ``average`` last made of it.
        self.by_server = False
        #: The modules as a chain of layers, None if they are not one; for these backends.
        self.chain = find_chain(self) if backend in ("auto", "compiled") else None
        self._honest, self.shares = honest, shares
        # ``auto`` replaces it by its choice, and says why.
        self.backend, self.reason = backend, "it was asked for"
        self._gradients = BACKENDS[backend](me)

    def rows(self) -> tuple[torch.Tensor, ...]:
        """``X``, ``G``, ``buffers``, ``counts`` and ``noise``, of which a worker has a row each."""
        return self.X, self.G, self.buffers, self.counts, self.noise

    def move(self, *rows: torch.Tensor) -> None:
        """Use other ``rows``, which hold the same numbers."""
        self.X, self.G, self.buffers, self.counts, self.noise = rows
        for i, module in self.modules.made.items():
            bind(module, *(matrix[i] for matrix in rows))
        self._gradients = BACKENDS[self.backend](self._weak)

    @property
    def honest(self) -> torch.Tensor:
        """The parameters of the honest workers, ``[honest, d]``."""
        return self.X[: self._honest]

    def state_dict(self) -> dict[str, torch.Tensor]:
        """What training changes: parameters, buffers, and the state of dropout's streams."""
        streams = torch.stack([generator.get_state() for generator in self.generators])
        return {**self._rows(), "streams": streams}

    def _rows(self) -> dict[str, torch.Tensor]:
        server = {"server": self._consensus_row, "server_counts": self._consensus_counts}
        rows = {"X": self.X, "buffers": self.buffers, "counts": self.counts}
        drawn = {"noise": self.noise} if self.noise.numel() else {}
        return rows | drawn | (server if self.by_server else {})

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Restore from ``state``."""
        for name, rows in self._rows().items():
            rows.copy_(state[name])
        for generator, stream in zip(self.generators, state["streams"], strict=True):
            generator.set_state(stream.clone())  # set_state ignores where a view starts

    @one_intra_op_thread()
    def gradients(self, batches: Batches, then: HalfStep | None = None) -> torch.Tensor:
        """Write the gradient of each worker's mean loss on its batch to ``G``; the losses.

        With a half step ``then``, each worker takes it as soon as it has its gradient, and ``G`` is
        not known: by the backends ``compiled``, ``threads`` and ``loop``.
        """
        with tf32(self):
            return self._gradients(batches, then) if then else self._gradients(batches)

    def drawing(self, generator: torch.Generator) -> AbstractContextManager[Any]:
        """Passes that draw from this stream what their model draws from torch's global one."""
        if not self.draws:
            return nullcontext()
        stream = stream_of_pass(generator)
        return drawing_from(stream) if self.threads == 1 else Functions(stream, self._functions)

    def views_of(self, *rows: torch.Tensor) -> tuple[dict[str, torch.Tensor], ...]:
        """Views ``[n, *shape]`` by name of n rows like those of ``X``, ``buffers``, ``counts``."""
        return tuple(map(views, self._named, rows))

    def consensus_model(self) -> torch.Tensor:
        """The mean of the workers' parameters ``[d]``; exactly a worker's row if all are equal.

        Byzantine workers do not count.
        """
        return self._mean(self.honest)

    def _mean(self, rows: torch.Tensor) -> torch.Tensor:
        if self.shares is not None:
            return weighed_mean(rows, self.shares)
        return rows.double().mean(0).to(rows.dtype)

    @one_intra_op_thread()
    @torch.no_grad()
    def evaluate(
        self, inputs: Chunks, targets: Chunks, *, workers: Sequence[int] | None = None
    ) -> Scores:
        """Loss and accuracy, without dropout, over all samples of the chunks.

        The consensus model is evaluated, and the rows ``workers``, by default all honest ones.
        If all of these agree, the consensus model is evaluated for them.
        """
        consensus = self.consensus()
        self._stream.manual_seed(self._stream.initial_seed())  # for draws in evaluation
        matrices = self.honest, self.buffers[: self._honest], self.counts[: self._honest]
        agree = all(
            bool((row == rows).all()) for row, rows in zip(self._own(), matrices, strict=True)
        )
        asked = list(range(len(self.honest)) if workers is None else workers)
        apart = [] if agree else asked  # whose own models are evaluated
        if self.chain is not None and not self.chain.of_batches:
            X = self.X if len(apart) == self.n else self.X[apart]  # all of them are not copied
            rows = [self._consensus_row[None, : self.d], *([X] if apart else [])]
            sums = [pair for X in rows for pair in self.chain.scores(X, inputs, targets)]
        else:
            by_vmap = self.X.is_cuda and not (self.draws or self._restores)
            found = by_vmap and self.batched_sums(consensus, apart, inputs, targets)
            sums = found or self.module_sums(
                [consensus, *(self.modules[i] for i in apart)], inputs, targets
            )
        samples = sum(len(chunk) for chunk in targets)
        losses = [loss / samples for loss, _ in sums]
        accuracies = [
            math.nan if self.task.score is None else correct / samples for _, correct in sums
        ]
        if agree:
            losses, accuracies = losses * (1 + len(asked)), accuracies * (1 + len(asked))
        return Scores(losses[0], accuracies[0], losses[1:], accuracies[1:])

    def module_sums(
        self, models: Sequence[nn.Module], inputs: Chunks, targets: Chunks
    ) -> list[tuple[float, float]]:
        """For each model, the sums of the losses and scores of all samples."""
        for module in models[1:]:  # the consensus model is never in training
            module.eval()
        groups, seed = self._groups(inputs, targets), self._stream.initial_seed()

        @torch.no_grad()
        def part(k: int) -> torch.Tensor:
            of, group = divmod(k, len(groups))
            stream = torch.Generator(self.X.device).manual_seed(seed + group)  # of all models
            with self.drawing(stream):
                return self._sums(models[of], *groups[group])

        # A GPU is waited for once. Streams of workers are not used by several threads.
        spread = in_order if self._restores else self.spread
        with restored(cast(Any, self)) if self._restores else nullcontext():
            parts = torch.stack(spread(part, len(models) * len(groups))).tolist()
        for module in models[1:]:
            module.train()
        by_model = [parts[k : k + len(groups)] for k in range(0, len(parts), len(groups))]
        return [(sum(a for a, _ in sums), sum(b for _, b in sums)) for sums in by_model]

    def _groups(self, inputs: Chunks, targets: Chunks) -> list[tuple[Chunks, torch.Tensor]]:
        """The chunks of inputs whose outputs loss and score get in one call, and their targets."""
        if self.task.at_once:
            return [(inputs, torch.cat(tuple(targets)))]
        return [([x], wanted) for x, wanted in zip(inputs, targets, strict=True)]

    def _sums(
        self, module: Callable[..., Any], inputs: Chunks, targets: torch.Tensor
    ) -> torch.Tensor:
        """``[2]``: the sums of the losses and of the scores of some samples; 0 without a score.

        One number, such as a mean or an area under a curve, counts for each sample.
        """
        # Copies, since a user's module, loss or score may change them.
        outputs = [module(x.clone()) for x in inputs]
        whole = over_tensors(lambda *x: torch.cat(x), *outputs) if outputs[1:] else outputs[0]
        sums = [
            function(whole, targets.clone()).double().expand(len(targets)).sum()
            for function in (self.task.loss, self.task.score)
            if function is not None
        ]
        return torch.stack(sums if self.task.score else [*sums, torch.zeros_like(sums[0])])

    def batched_sums(
        self, consensus: nn.Module, apart: Sequence[int], inputs: Chunks, targets: Chunks
    ) -> list[tuple[float, float]] | None:
        """The same for the consensus model and those of the workers ``apart``, by vmap.

        None if vmap fails on the module, the loss or the score, or needs too much memory.
        """
        matrices = [
            torch.cat([row[None], rows[list(apart)]])
            for row, rows in zip(self._own(), (self.X, self.buffers, self.counts), strict=True)
        ]

        def sums(chunks: Chunks, wanted: torch.Tensor, *named: Named) -> torch.Tensor:
            tensors = {name: tensor for part in named for name, tensor in part.items()}
            with replayed(consensus, ()):  # nothing is drawn, and only torch's operations are used
                return self._sums(partial(called, consensus, tensors), chunks, wanted)

        of_models = vmap(sums, in_dims=(None, None, 0, 0, 0), randomness="same")
        totals = []
        try:
            for rows in zip(*(matrix.split(MODELS_TOGETHER) for matrix in matrices), strict=True):
                named = self.views_of(*rows)
                groups = self._groups(inputs, targets)
                totals.append(torch.stack([of_models(*group, *named) for group in groups]).sum(0))
        except Exception as error:
            log.debug("evaluation: one model after another, since vmap fails: %s", error)
            return None
        return [(losses, scores) for losses, scores in torch.cat(totals).tolist()]

    def models(self) -> list[nn.Module]:
        """The consensus model and the workers' models, which share this population's memory."""
        return [self.consensus(), *self.modules]

    def consensus(self) -> nn.Module:
        """The consensus model, in memory that its next one takes."""
        if not self.by_server:
            self.average()
        return self._consensus

    def average(self) -> None:
        """Make the consensus model anew, of the workers."""
        buffers = self.buffers[: self._honest]
        self._consensus_row.copy_(torch.cat([self.consensus_model(), self._mean(buffers)]))
        self._consensus_counts.copy_(self.counts[: self._honest].amax(0))

    def restart(self) -> None:
        """Make all workers the consensus model."""
        for row, rows in zip(self._own(), (self.X, self.buffers, self.counts), strict=True):
            rows.copy_(row.expand_as(rows))

    def _own(self) -> tuple[torch.Tensor, ...]:
        """The consensus model's row of ``X``, ``buffers`` and ``counts``."""
        return *self._consensus_row.split([self.d, self.buffers.shape[1]]), self._consensus_counts

    def states(self) -> dict[int, Named]:
        """Copies of each worker's parameters and buffers, by name; no modules are made for them."""
        parts = self.views_of(self.X, self.buffers, self.counts)
        rows = {name: matrix for part in parts for name, matrix in part.items()}
        return {i: copies({name: x[i] for name, x in rows.items()}) for i in range(self.n)}


class Stack:
    """The workers of several populations, whose gradients are taken in one call.

    The populations have the same model, task, precision and backend. The stack allocates larger
    matrices, and moves the matrices of the populations into them. Otherwise the populations do not
    change, and each can still be used alone.
    """

    def __init__(self, populations: Sequence[Population]) -> None:
        first = populations[0]
        self._populations, self._sizes = populations, [one.n for one in populations]
        self.backend, self.reason, self.runs = first.backend, first.reason, len(populations)
        self.X, self.G, self.buffers, self.counts, self.noise = rows = [
            torch.cat(parts) for parts in zip(*(one.rows() for one in populations), strict=True)
        ]
        pieces = zip(*(matrix.split(self._sizes) for matrix in rows), strict=True)
        for population, piece in zip(populations, pieces, strict=True):
            population.move(*piece)
        self.modules: Sequence[nn.Module] = [
            module for population in populations for module in population.modules
        ]
        self.generators = [one for population in populations for one in population.generators]
        self.task, self.precision, self.input_shape = first.task, first.precision, first.input_shape
        self.brought, self.draws, self.drawing = first.brought, first.draws, first.drawing
        self.threads, self.spread, self.chain = first.threads, first.spread, first.chain
        self.n, self.views_of = sum(self._sizes), first.views_of
        self._gradients = BACKENDS[self.backend](proxy(self))

    @one_intra_op_thread()
    def gradients(self, batches: Batches) -> list[torch.Tensor]:
        """Write all workers' gradients (``Population.gradients``); each population's losses."""
        with tf32(self):
            losses = self._gradients(batches)
        for population in self._populations:
            population.backend, population.reason = self.backend, self.reason
        return list(losses.split(self._sizes))
