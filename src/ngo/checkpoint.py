"""The checkpoint of a run: its file, when one is due, and the signals that ask for the last.

A checkpoint is what ``torch.save`` writes, and the SHA-256 of that after it. It is read with
``weights_only``, which runs nothing that a file says. It begins with what the run is (``about``): a
file that is of anything else, or damaged, is refused.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

import torch

from ngo.earlier import INSTEAD, difference, remade
from ngo.files import whole_file
from ngo.registry import UserError
from ngo.spec import CHECKPOINT_SECONDS

State = dict[str, object]

NAME = "checkpoint.pt"
LAYOUT = 1  # of the file; a new one with every change of what a state holds

# An evaluation's checkpoint waits until writing one takes less than this share of the time.
SHARE = 0.05

# Signals within so many seconds are one: Ctrl-C, `timeout` and schedulers send several.
TOGETHER = 1.0

SIGNALS = (signal.SIGTERM, signal.SIGINT)
_DIGEST = hashlib.sha256().digest_size


class Refused(Exception):
    """A checkpoint that this run can't go on from, with the reason."""


class Foreign(Refused):
    """A checkpoint of another run, and the name of that."""

    def __init__(self, run: str, how: str) -> None:
        super().__init__(f"it is of the run {run}, with {how}")
        self.run, self.how = run, how


class Stopped(KeyboardInterrupt):
    """A run that a signal stopped between two steps; ``resumes`` if its checkpoint is written."""

    def __init__(self, number: int, step: int, steps: int, resumes: bool) -> None:
        then = "resumes" if resumes else "goes on from an earlier step: no checkpoint was written"
        super().__init__(f"stopped at step {step} of {steps}; the same command {then}")
        self.number = number


def write(path: str | Path, about: Mapping[str, object], state: State) -> None:
    """Write a checkpoint, whole or not at all; an OSError where that fails.

    It is not forced to the disk: after a kill it is there, after a power failure it may be an
    earlier one, none, or damaged, and then it is refused.
    """
    with whole_file(path) as temporary, temporary.open("w+b") as file:
        try:
            torch.save({"about": {"layout": LAYOUT, **about}, "state": state}, file)
        except RuntimeError as error:  # torch's own, while it closes what the disk had no room for
            raise error.__context__ or error from None
        file.seek(0)
        file.write(hashlib.file_digest(file, "sha256").digest())


def read(path: str | Path, about: Mapping[str, object]) -> State:
    """The state in the checkpoint of the run that is ``about``; Refused if there is none in it,
    Foreign if it is another run's.
    """
    try:
        data = memoryview(Path(path).read_bytes())
    except OSError as error:
        raise Refused(f"it can't be read ({error.strerror})") from None
    content, digest = data[:-_DIGEST], data[-_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        raise Refused("it is damaged")
    try:
        found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        its, state = found["about"], found["state"]
    except (RuntimeError, pickle.UnpicklingError, KeyError, TypeError):
        raise Refused("it holds no run") from None
    if other := difference(its, about):
        raise Foreign(its.get("run", "of another version"), other)
    if its.get("layout") != LAYOUT:
        raise Refused(f"it is made with layout {its.get('layout')!r} and not {LAYOUT!r}")
    if by := remade(its, about):
        raise Refused(f"it is made with {by}")
    return state


class Checkpoints:
    """The checkpoints of one run, one file that each replaces.

    As a context it takes SIGTERM and SIGINT: the first makes :meth:`keep` write a checkpoint and
    raise Stopped; another, more than ``TOGETHER`` seconds after it, ends the process at once.
    ``tell`` gets a line about what is refused or can't be written. The checkpoint of another run is
    lost only if this one may ``overwrite`` it.
    """

    def __init__(
        self,
        path: str | Path,
        about: Mapping[str, object],
        every: float = CHECKPOINT_SECONDS,
        tell: Callable[[str], None] = lambda line: None,
        *,
        overwrite: bool = True,
    ) -> None:
        self.path = Path(path)
        self.about = about
        self.every = every
        self._tell, self._overwrite = tell, overwrite
        self._last, self._cost = time.perf_counter(), 0.0
        self._asked: tuple[int, float] | None = None  # by which signal to stop, and when
        self._failed = False

    def found(self) -> State | None:
        """The state to go on from; None, with a line if there is a checkpoint of no use.

        Raises a UserError for that of another run.
        """
        try:
            return read(self.path, self.about) if self.path.exists() else None
        except Refused as reason:
            if isinstance(reason, Foreign) and not self._overwrite:
                raise UserError(
                    f"out: {str(self.path.parent)!r} holds the unfinished run {reason.run}, with "
                    f"{reason.how}; {INSTEAD}"
                ) from None
            self._tell(f"checkpoint: {str(self.path)!r} is refused: {reason}; starting over")
            return None

    def keep(self, step: int, steps: int, evaluated: bool, state: Callable[[], State]) -> None:
        """Write the ``state`` after ``step`` of ``steps`` if a checkpoint is due; Stopped if asked.

        It is due after an evaluation (the next one, where they follow so fast that checkpoints
        would take more than ``SHARE`` of the time), and ``every`` so many seconds (0: never).
        """
        now = time.perf_counter()
        since = now - self._last
        late = 0 < self.every <= since
        if self._asked or late or (evaluated and self._cost <= SHARE * since):
            written = self._write(state())
            self._last = time.perf_counter()
            self._cost = self._last - now
            if self._asked:
                raise Stopped(self._asked[0], step, steps, written)

    def remove(self) -> None:
        """The run is done."""
        self.path.unlink(missing_ok=True)

    def _write(self, state: State) -> bool:
        try:
            write(self.path, self.about, state)
        except (OSError, UserError) as error:
            if not self._failed:
                told = isinstance(error, UserError)  # which names the file
                line = error if told else f"out: {str(self.path)!r} can't be written: {error}"
                self._tell(f"{line}; going on")
            self._failed = True
            return False
        return True

    def __enter__(self) -> Checkpoints:
        # Only a program's main thread can take signals; what is ignored (nohup) stays so.
        main = threading.current_thread() is threading.main_thread()
        mine = [n for n in SIGNALS if main and signal.getsignal(n) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._ask) for number in mine}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._asked is None:
            self._asked = number, now
        elif now - self._asked[1] > TOGETHER:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
