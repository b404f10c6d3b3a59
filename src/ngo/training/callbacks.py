"""What a callback of ``fit`` sees of a run, how a callback ends it, and the run's checkpoints."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

import ngo
from ngo.common import plugins
from ngo.common.files import file_lock, writable_folder
from ngo.common.registry import UserError
from ngo.data.partition import parts_digest
from ngo.gossip.consensus import synchronization_index
from ngo.training.checkpoint import NAME, TOGETHER, Checkpoints, State, Stopped
from ngo.training.global_state import set_stream_states, stream_states
from ngo.training.problem import Problem
from ngo.training.record import kind
from ngo.training.results_version import inputs_read, results_version
from ngo.training.run import Training
from ngo.training.spec import FIELDS, RunSpec
from ngo.training.value_digest import ValueDigest, numbers_digest


@dataclass(frozen=True)
class RunState:
    """A run between two steps. Its models can be had until the callback returns."""

    #: The number of steps taken.
    step: int
    #: The number of steps of the whole run.
    steps: int
    #: The passes over all workers' samples.
    epoch: float
    #: The evaluation at this step: a copy of a row of ``Fit.metrics``, without the fields of the
    #: run. None in ``on_step``.
    metrics: Mapping[str, Any] | None
    _training: OwnTraining = field(repr=False)
    _made: Callable[[nn.Module], nn.Module] = field(repr=False)

    @property
    def train_loss(self) -> float:
        """The workers' mean loss on their batches in the last step; NaN before the first."""
        return self._current().last_loss

    @property
    def V(self) -> float:
        """The synchronization index: the sum of squared distances of workers from their mean."""
        return float(synchronization_index(self._current().population.honest))

    def consensus(self) -> nn.Module:
        """A copy of the module with the mean of the workers' parameters, in eval mode."""
        return self._made(self._current().population.models()[0])

    def worker(self, i: int) -> nn.Module:
        """A copy of the module of worker ``i``, in eval mode."""
        modules = self._current().population.modules
        if not isinstance(i, int) or not 0 <= i < len(modules):
            raise UserError(f"worker: {i!r} is not a worker; they are 0 to {len(modules) - 1}.")
        return self._made(modules[i])

    def _current(self) -> OwnTraining:
        if self._training.step != self.step:
            raise UserError(
                f"the run has gone on from step {self.step} to {self._training.step}; ask for "
                f"models within the callback."
            )
        return self._training


#: A function that ``fit`` calls. What it returns is ignored; ``raise StopIteration`` ends the run.
Callback = Callable[[RunState], object]


class Ended(Exception):
    """A callback has ended the run."""


class OwnTraining(Training):
    """A run of ``fit``. A checkpoint also has global random streams, if the module ``draws``."""

    draws = False
    _last: torch.Tensor | None = None  # the losses of the step before the last evaluation

    @property
    def last_loss(self) -> float:
        """The mean loss of the last step's batches; NaN before the first step."""
        losses = self._losses[-1] if self._losses else self._last
        return math.nan if losses is None else float(losses.double().mean())

    def evaluate_here(self) -> None:
        """Evaluate after the last step, unless that is done."""
        if not self.rows or self.rows[-1].step != self.step:
            self._evaluate()

    def _evaluate(self) -> None:
        self._last = self._losses[-1] if self._losses else None
        super()._evaluate()

    def state(self, made: Callable[[nn.Module], nn.Module], *, evaluated: bool) -> RunState:
        """What a callback sees; ``made`` copies a module."""
        row = asdict(self.rows[-1]) if evaluated else None
        epoch = self.stepper.samples / self._problem.owned
        return RunState(self.step, self.steps, epoch, row, self, made)

    def state_dict(self) -> State:
        """See ``Training``."""
        return super().state_dict() | ({"streams": stream_states()} if self.draws else {})

    def load_state_dict(self, state: State) -> None:
        """See ``Training``."""
        super().load_state_dict(state)
        if self.draws:
            set_stream_states(state["streams"])


class Interruptible(Checkpoints):
    """The checkpoints of ``fit``, if it ``keeps`` any. A second Ctrl-C takes effect at once.

    The ``callers``, functions with what they hold and read, are a part of the run, and a checkpoint
    does not hold their values, nor numbers in a module that are not its buffers. It tells how they
    are at its moment: where they have changed, no other start resumes from it.
    """

    keeps = True
    callers: Mapping[str, object] = {}
    _worker: nn.Module | None = None
    _told = False

    def watch(self, worker: nn.Module) -> None:
        """Tell whether training changes numbers that a worker's module holds."""
        self._worker, self._numbers = worker, numbers_digest(worker)

    def keep(self, step: int, steps: int, evaluated: bool, state: Callable[[], State]) -> None:
        """See ``Checkpoints``."""
        if self.keeps:
            super().keep(step, steps, evaluated, state)
        elif self._asked:
            raise Stopped(self._asked[0], step, steps, False)

    def save(self, state: State, *, ended: bool) -> None:
        """Write a checkpoint of a run that stops here; ``ended``: nothing of it is left."""
        if self.keeps and ended:
            super()._write(state)
        elif self.keeps:
            self._write(state)

    def _write(self, state: State) -> bool:
        begun = self.about
        self.about = {**begun, **_digests(self.callers)}
        if self._worker is not None and numbers_digest(self._worker) != self._numbers:
            self.about["state of module"] = "changed"
        if self.about != begun and not self._told:
            self._told = True
            name = next(name for name in self.about if self.about[name] != begun[name])
            self._tell(f"out: the {name} has changed in training; no other start resumes the run")
        try:
            return super()._write(state)
        finally:
            self.about = begun

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._asked is not None and time.monotonic() - self._asked[1] > TOGETHER:
            raise KeyboardInterrupt
        self._asked = self._asked or (number, time.monotonic())


def checkpoints_in(
    out: str | Path | None,
    spec: RunSpec,
    problem: Problem,
    device: str,
    given: Mapping[str, object],
    stack: ExitStack,
) -> Interruptible:
    """The checkpoints in the folder ``out``; none are kept without one.

    ``given`` are the module and the functions of the caller, which tell runs apart. Raises a
    UserError for one that can't be compared with that of another start.
    """

    def tell(line: str) -> None:
        warnings.warn(f"fit: {line}", RuntimeWarning, stacklevel=5)

    about: dict[str, object] = {}
    callers: dict[str, object] = {}
    if out is not None:
        folder = writable_folder(out)
        wait = partial(tell, f"waiting for another run in {str(out)!r}")
        try:
            stack.enter_context(file_lock(folder / ".lock", wait))
        except RuntimeError:  # a callback called fit: the wait would have no end
            raise UserError(f"out: {str(out)!r} is in use by this thread; give another.") from None
        callers = {**given, **dict(_registered(spec))}
        about = {
            "run": spec.id,
            "version": ngo.__version__,
            "code": results_version(spec),
            **kind(device),
            **spec.values(),
            "parts": parts_digest(problem.parts),
            **inputs_read(spec, problem.data),
            **_digests(callers, check=True),
            "state of module": None,
        }
    checkpoints = Interruptible(
        Path(out or ".") / NAME,
        about,
        tell=tell,
        overwrite=False,
        instead="choose another folder, or delete this one.",
    )
    checkpoints.keeps = out is not None
    checkpoints.callers = callers
    return checkpoints


def _digests(callers: Mapping[str, object], check: bool = False) -> dict[str, str | None]:
    found = {}
    for name, value in callers.items():
        digest = ValueDigest(value)
        if check and digest.unknown is not None:
            raise UserError(
                f"{name}: it holds or reads a {digest.unknown}, which can't be compared with that "
                f"of another start; with out it must be made of code and of plain values."
            )
        found[name] = None if value is None else digest.text[:16]
    return found


def _registered(spec: RunSpec) -> Iterator[tuple[str, object]]:
    """The run's entries that the caller's own code registered: no number stands for it."""
    covered = {"ngo", *(plugin.module.partition(".")[0] for plugin in plugins.loaded())}
    for name, each in FIELDS.items():
        choice = getattr(spec, name)
        if each.names is None or choice not in each.names.definitions:
            continue
        module = each.names.definitions[choice].partition(":")[0]
        if module.partition(".")[0] not in covered:
            yield f"code of {name}", each.names[choice]
