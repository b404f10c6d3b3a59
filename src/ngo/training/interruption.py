"""Checkpoints of ``fit``, and what Ctrl-C does."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import torch

import ngo
from ngo.common.locks import file_lock
from ngo.common.paths import writable_folder
from ngo.data.partition import parts_digest
from ngo.training.checkpoint import NAME, TOGETHER, Checkpoints, State, Stopped
from ngo.training.code import run_fingerprint
from ngo.training.problem import Problem
from ngo.training.record import kind
from ngo.training.spec import RunSpec


class Interruptible(Checkpoints):
    """The checkpoints of ``fit``, if it ``keeps`` any. A second Ctrl-C takes effect at once."""

    keeps = True

    def keep(self, step: int, steps: int, evaluated: bool, state: Callable[[], State]) -> None:
        """See ``Checkpoints``."""
        if self.keeps:
            super().keep(step, steps, evaluated, state)
        elif self._asked:
            raise Stopped(self._asked[0], step, steps, False)

    def save(self, state: State) -> None:
        """Write a checkpoint of a run that ends here."""
        if self.keeps:
            self._write(state)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._asked is not None and time.monotonic() - self._asked[1] > TOGETHER:
            raise KeyboardInterrupt
        self._asked = self._asked or (number, time.monotonic())


def checkpoints_in(
    out: str | Path | None,
    spec: RunSpec,
    problem: Problem,
    device: str,
    tried: float,
    stack: ExitStack,
) -> Interruptible:
    """The checkpoints in the folder ``out``; none are kept without one.

    ``tried`` is the loss of a trial: it tells runs with other losses apart.
    """
    about: dict[str, object] = {}
    if out is not None:
        folder = writable_folder(out)
        stack.enter_context(file_lock(folder / ".lock", lambda: None))
        sets = (problem.data.train_inputs, problem.data.train_targets)
        tests = (problem.data.test_inputs, problem.data.test_targets)
        contents = (x.cpu().contiguous().view(torch.uint8).numpy() for x in (*sets, *tests))
        digest = hashlib.sha256()
        for each in contents:
            digest.update(each.data)
        about = {
            "run": spec.id,
            "version": ngo.__version__,
            "code": run_fingerprint(spec),
            **kind(device),
            **spec.values(),
            "parts": parts_digest(problem.parts),
            "data": digest.hexdigest()[:16],
            "loss": f"{tried:.5g}",
        }
    checkpoints = Interruptible(
        Path(out or ".") / NAME,
        about,
        tell=lambda line: warnings.warn(f"fit: {line}", RuntimeWarning, stacklevel=5),
        overwrite=False,
        instead="choose another folder, or delete this one.",
    )
    checkpoints.keeps = out is not None
    return checkpoints
