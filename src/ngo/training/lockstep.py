"""Runs in lockstep: the gradients of all their workers are taken in one call, a step of each at a
time.

All else is the run's own, as if it trained by itself: its streams, graphs, method, evaluations,
checkpoints and folder.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby

import torch

from ngo.common.registry import UserError
from ngo.data.dataset import DATASETS
from ngo.engine.population import Stack
from ngo.native.threads import one_intra_op_thread
from ngo.training.batches import Batches
from ngo.training.checkpoint import Signals, Stopped
from ngo.training.problem_checks import enough_memory
from ngo.training.run import Training, Turns
from ngo.training.spec import RunSpec

log = logging.getLogger("ngo")

#: What runs in lockstep have in common.
SHARED = ("dataset", "augmentation", "model", "task", "batch_size", "precision", "backend", "clock")

#: The backends of a CPU that compute all workers at once.
STACKED = ("compiled", "vmap")

#: Starts a run; it takes the ``signals`` of all.
Start = Callable[..., Turns]


def shared(spec: RunSpec) -> Hashable:
    """Equal for runs that may train in lockstep: in all else, and in n, they may differ."""
    names = (*SHARED, *DATASETS[spec.dataset].fields)
    return tuple((name, getattr(spec, name)) for name in names)


class Lockstep:
    """Trainings that take their gradients together."""

    def __init__(self) -> None:
        self._stacks: list[tuple[Stack, Batches, Sequence[Training]]] = []
        self._members: Sequence[Training] = ()

    def gradients(self, trainings: Sequence[Training]) -> None:
        """Take the gradients of the next step of each.

        On a CPU, ``auto`` chooses its backend in the first step, by the run itself: alone.
        """
        alike = [training for training in trainings if _may_stack(training)]
        if alike != self._members:
            self._stack(alike)
        for stack, batches, members in self._stacks:
            with ExitStack() as absences:
                for training in members:
                    absences.enter_context(training.stepper.absences())
                losses = stack.gradients(batches)
            for training, own in zip(members, losses, strict=True):
                training.stepper.losses = own
                training.width = max(training.width, len(members))

    def _stack(self, trainings: Sequence[Training]) -> None:
        """Stack the runs with equal backends."""
        self._members, self._stacks = trainings, []

        def backend(training: Training) -> str:
            return training.population.backend

        for _, group in groupby(sorted(trainings, key=backend), key=backend):
            members = list(group)
            batches = Batches.joined([training.stepper.batches for training in members])
            stack = Stack([training.population for training in members])
            self._stacks.append((stack, batches, members))


def _may_stack(training: Training) -> bool:
    """Whether the backend computes all workers at once; on a GPU, ``auto`` may choose one."""
    population = training.population
    return training.stepper.stackable and (population.X.is_cuda or population.backend in STACKED)


def together(
    starts: Mapping[RunSpec, Start], width: int, fail: Callable[[RunSpec, UserError], None]
) -> None:
    """Train runs, at most ``width`` in lockstep; those have equal ``shared`` values.

    A run that fails leaves the others alone: ``fail`` is called with its error. If the memory of a
    GPU is too small, the width is halved, and runs go on from their checkpoints. Raises Stopped
    when all have stopped at a signal.
    """
    waiting = dict(starts)
    while waiting:
        group = dict(list(waiting.items())[:width])
        try:
            for spec, error in _ends(group):
                del waiting[spec]
                if error is not None:
                    fail(spec, error)
        except torch.OutOfMemoryError:
            width = len(group) // 2
            log.warning("%d runs together need more memory than the GPU has", len(group))


def _ends(starts: Mapping[RunSpec, Start]) -> Iterator[tuple[RunSpec, UserError | None]]:
    """Train runs in lockstep: each as it ends, and the error with which it does."""
    signals, lockstep, stopped = Signals(), Lockstep(), None
    with one_intra_op_thread(), ExitStack() as closing:
        runs = {spec: start(signals=signals) for spec, start in starts.items()}
        if len(runs) == 1:
            runs = {spec: _last_resort(spec, run) for spec, run in runs.items()}
        for run in runs.values():
            closing.callback(run.close)
        go_on: Callable[[Turns], Training] = next
        while runs:
            paused = []
            for spec, run in list(runs.items()):
                ended = None
                try:
                    paused.append(go_on(run))
                    continue
                except StopIteration:
                    pass
                except UserError as error:
                    ended = error
                except Stopped as error:
                    stopped = error
                del runs[spec]
                yield spec, ended
            go_on = next
            if len(starts) > 1:
                try:
                    lockstep.gradients(paused)
                except torch.OutOfMemoryError:
                    raise
                except Exception as error:  # each run says what it was, as if it were alone
                    go_on = partial(_fail, error)
    if stopped is not None:
        raise stopped


def _last_resort(spec: RunSpec, run: Turns) -> Turns:
    with enough_memory(spec):
        return (yield from run)


def _fail(error: Exception, run: Turns) -> Training:
    return run.throw(error)
