"""Checkpoints of ``fit``, and what Ctrl-C does."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import FrameType

from torch import nn

import ngo
from ngo.common import plugins
from ngo.common.locks import file_lock
from ngo.common.paths import writable_folder
from ngo.common.registry import UserError
from ngo.data.partition import parts_digest
from ngo.training.checkpoint import NAME, TOGETHER, Checkpoints, State, Stopped
from ngo.training.problem import Problem
from ngo.training.record import kind
from ngo.training.results_version import inputs_read, results_version
from ngo.training.spec import FIELDS, RunSpec
from ngo.training.value_digest import ValueDigest, numbers_digest


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
    for name, field in FIELDS.items():
        choice = getattr(spec, name)
        if field.names is None or choice not in field.names.definitions:
            continue
        module = field.names.definitions[choice].partition(":")[0]
        if module.partition(".")[0] not in covered:
            yield f"code of {name}", field.names[choice]
