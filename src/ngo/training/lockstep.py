"""Runs in lockstep: the gradients of all their workers are taken in one call, a step of each at a
time, and so are the updates of those that are alike.

Each run has its own streams, graphs, evaluations, checkpoints and folder, as if it trained alone.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from itertools import chain

import torch

from ngo.common.registries import DATASETS
from ngo.engine.population import Stack
from ngo.gossip.exchange import JointNetwork
from ngo.native.threads import one_intra_op_thread
from ngo.training.batches import Batches
from ngo.training.checkpoint import Signals, Stopped
from ngo.training.learning_problem import enough_memory
from ngo.training.run import Training, Turns
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper
from verdicts.registry import UserError, in_a_line

log = logging.getLogger("ngo")

#: What runs in lockstep have in common.
SHARED = ("dataset", "augmentation", "model", "task", "batch_size", "precision", "backend", "clock")

#: The backends of a CPU that compute all workers at once.
STACKED = ("compiled", "vmap")

#: Starts a run; it takes the ``signals`` of all.
Start = Callable[..., Turns]
#: Is called with a run that fails, and its error.
Fail = Callable[[RunSpec, UserError], None]


def shared(spec: RunSpec) -> Hashable:
    """Equal for runs that may train in lockstep: in all else, and in n, they may differ."""
    names = (*SHARED, *DATASETS[spec.dataset].fields)
    return tuple((name, getattr(spec, name)) for name in names)


class JointUpdate:
    """The update of runs that are ``Stepper.alike``, as often as it is called.

    ``X`` and ``G`` have the rows of all, one run's after another's. So have the method's matrices
    from now on; those of the runs are views.
    """

    def __init__(self, steppers: Sequence[Stepper], X: torch.Tensor, G: torch.Tensor) -> None:
        first = steppers[0]
        self._steppers, self._X, self._G = steppers, X, G
        self._network = JointNetwork([x.network for x in steppers], first.population.spread)
        rows = {x: [stepper.matrices[x] for stepper in steppers] for x in first.matrices}
        self._matrices = {name: torch.cat(each) for name, each in rows.items()}
        self._share()

    def __call__(self) -> None:
        """Take the next update."""
        known = len(self._matrices)
        self._network.set_matrices([stepper.next_matrix() for stepper in self._steppers])
        self._steppers[0].take(self._X, self._G, self._network, self._matrices)
        if len(self._matrices) > known:
            self._share()
        for stepper in self._steppers:
            stepper.updated = True

    def _share(self) -> None:
        """Give each run its rows of the matrices."""
        for name, rows in self._matrices.items():
            parts = rows.chunk(len(self._steppers))
            for stepper, part in zip(self._steppers, parts, strict=True):
                stepper.matrices[name] = part


class Lockstep:
    """Trainings that take their gradients together, and updates that may be one."""

    def __init__(self) -> None:
        self._stacks: list[tuple[Stack, Batches, Sequence[Training], list[JointUpdate]]] = []
        self._members: Sequence[Training] = ()

    def step(self, trainings: Sequence[Training]) -> None:
        """Take the gradients of the next step of each, and updates that may be one.

        Each run takes the rest of its step itself (``Stepper.advance``).

        On a CPU, ``auto`` chooses its backend in the first step, by the run itself: alone.
        """
        stackable = [training for training in trainings if _may_stack(training)]
        if stackable != self._members:
            self._stack(stackable)
        for stack, batches, members, updates in self._stacks:
            with ExitStack() as absences:
                for training in members:
                    absences.enter_context(training.stepper.absences())
                losses = stack.gradients(batches)
            for training, own in zip(members, losses, strict=True):
                training.stepper.losses = own
                training.width = max(training.width, len(members))
            for update in updates:
                update()

    def _stack(self, trainings: Sequence[Training]) -> None:
        """Stack the runs with equal backends; of these, those with equal updates are neighbours."""
        self._members, self._stacks = trainings, []
        backends: dict[str, dict[Hashable, list[Training]]] = {}
        for training in trainings:
            likes = backends.setdefault(training.population.backend, {})
            likes.setdefault(training.stepper.alike(), []).append(training)
        for likes in backends.values():
            members = list(chain.from_iterable(likes.values()))
            batches = Batches.joined([training.stepper.batches for training in members])
            stack = Stack([training.population for training in members])
            groups = [[training.stepper for training in group] for group in likes.values()]
            sizes = [sum(stepper.population.n for stepper in group) for group in groups]
            parts = zip(groups, stack.X.split(sizes), stack.G.split(sizes), strict=True)
            updates = [JointUpdate(*part) for part in parts if len(part[0]) > 1]
            self._stacks.append((stack, batches, members, updates))


def _may_stack(training: Training) -> bool:
    """Whether the backend computes all workers at once; on a GPU, ``auto`` may choose one."""
    population = training.population
    return training.stepper.stackable and (population.X.is_cuda or population.backend in STACKED)


def together(
    starts: Mapping[RunSpec, Start], width: int, fail: Fail, signals: Signals | None = None
) -> None:
    """Train runs, in lockstep where their ``shared`` values are equal, at most ``width`` at once.

    A run that fails leaves the others alone: ``fail`` is called with its error. If a step of
    several fails, as where the memory of a GPU is too small, the width is halved, and they go on
    from their checkpoints. Raises Stopped when all have stopped at a signal, or ended after it;
    ``signals`` are those of a job.
    """
    waiting, signals = dict(starts), signals or Signals()
    while waiting:
        group = dict(list(waiting.items())[:width])
        try:
            for spec, error in _ends(group, signals):
                del waiting[spec]
                if error is not None:
                    fail(spec, error)
            continue
        except Exception as error:
            if len(group) == 1:
                raise
            width = len(group) // 2
            told = len(group), in_a_line(error), width
            log.warning("%d runs together fail (%s); now at most %d train together", *told)
        gc.collect()  # the runs that failed, which the error held
        torch.cuda.empty_cache()


def _ends(
    starts: Mapping[RunSpec, Start], signals: Signals
) -> Iterator[tuple[RunSpec, UserError | None]]:
    """Train runs in lockstep: each as it ends, and the error with which it does."""
    signals.check()
    lockstep, stopped = Lockstep(), None
    with one_intra_op_thread(), ExitStack() as closing:
        runs = {spec: start(signals=signals) for spec, start in starts.items()}
        one_is_left = len(runs) == 1
        for run in runs.values():
            closing.callback(run.close)
        while runs:
            paused = []
            for spec, run in list(runs.items()):
                ended = None
                try:
                    with enough_memory(spec) if one_is_left else nullcontext():
                        paused.append(next(run))
                    continue
                except StopIteration:
                    pass
                except UserError as error:
                    ended = error
                except Stopped as error:
                    stopped = error
                del runs[spec]
                yield spec, ended
            if not one_is_left:
                lockstep.step(paused)
    if stopped is not None:
        raise stopped
    signals.check()
