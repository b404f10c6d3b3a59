"""Checkpoints of a run: the file, when one is due, and the signals that stop a run.

A checkpoint file is the output of ``torch.save``, followed by its SHA-256. It is loaded with
``weights_only``, so that no code in a file is executed. It contains the description of its run
(``about``). A damaged file and the checkpoint of another run are refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ngo.common.files import atomic_file
from ngo.training.run_folder import INSTEAD, difference, remade
from ngo.training.snapshots import UNREADABLE, load_tensors
from ngo.training.spec import CHECKPOINT_SECONDS
from verdicts.files import content_of
from verdicts.registry import UserError

#: What a checkpoint holds: tensors, numbers and texts, and containers of them.
State = dict[str, Any]

LAYOUT = 5  # version of the file's layout; raised when the contents of a state change

# Checkpoints after evaluations may take at most this share of the time.
SHARE = 0.05

# Signals within this many seconds count as one: Ctrl-C, `timeout` and schedulers send several.
TOGETHER = 1.0

SIGNALS = (signal.SIGTERM, signal.SIGINT)
_DIGEST = hashlib.sha256().digest_size

# The line where a signal comes between two runs, or after the last step of one.
KEPT = "stopped; what is finished is kept, and the same command does the rest"


class Stopped(KeyboardInterrupt):
    """A signal has stopped a run between two steps, or a job between two runs."""

    def __init__(self, number: int, step: int = 0, steps: int = 0, resumes: bool = True) -> None:
        """``resumes``: the checkpoint was written. Without ``steps``, no run is at work."""
        then = "resumes" if resumes else "resumes at an earlier step: no checkpoint was written"
        line = f"stopped at step {step} of {steps}; the same command {then}"
        super().__init__(line if steps else KEPT)
        self.number = number


def write(path: str | Path, about: Mapping[str, object], state: State) -> None:
    """Write a checkpoint atomically; an OSError if that fails.

    The file is not synced to the disk: it survives a kill. After a power failure it may be missing,
    outdated or damaged; a damaged one is refused.
    """
    with atomic_file(path) as temporary, temporary.open("w+b") as file:
        try:
            torch.save({"about": {"layout": LAYOUT, **about}, "state": _compact(state)}, file)
        except RuntimeError as error:  # raised by torch when it closes a file on a full disk
            raise error.__context__ or error from None
        file.seek(0)
        file.write(hashlib.file_digest(file, "sha256").digest())


def _compact(value: Any) -> Any:
    """A copy of each tensor that is a part of larger memory, which torch would save as a whole."""
    if isinstance(value, torch.Tensor):
        return value if value.untyped_storage().nbytes() == value.nbytes else value.clone()
    if isinstance(value, dict):
        return {name: _compact(item) for name, item in value.items()}
    return list(map(_compact, value)) if isinstance(value, list) else value


def end_process(number: int, frame: FrameType | None = None) -> None:
    """End the process by a signal."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class Signals:
    """Signals of this process, while its runs are in ``with`` blocks of this object.

    They are SIGTERM and SIGINT, or those of ``numbers``.

    The first signal asks all runs to stop. ``Checkpoints.keep`` obeys before a run's next step;
    after the last step nothing does, so whoever starts runs calls ``check`` before and after each.
    A second signal, more than ``TOGETHER`` seconds later, goes to ``at_once``, which ends the
    process. Blocks may overlap; the handlers are restored at the end of the last.
    """

    def __init__(
        self, at_once: Callable[..., object] = end_process, numbers: Iterable[int] = SIGNALS
    ) -> None:
        self._at_once, self._numbers = at_once, numbers
        #: The signal that asked to stop; None before one.
        self.asked: int | None = None
        self._blocks = self._outer = 0  # all that are open, and those that are not a run's

    def check(self) -> None:
        """Raise Stopped if a signal has asked to stop."""
        if self.asked:
            raise Stopped(self.asked)

    @contextmanager
    def between_runs(self) -> Iterator[Signals]:
        """A block around those of several runs: outside theirs, a signal raises Stopped at once."""
        with self:
            self._outer = 1
            yield self

    def __enter__(self) -> Signals:
        self._blocks += 1
        if self._blocks == 1:
            # Only the main thread can handle signals. Ignored signals (nohup) stay ignored.
            main = threading.current_thread() is threading.main_thread()
            mine = [n for n in self._numbers if main and signal.getsignal(n) != signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._ask) for number in mine}
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if self._blocks == 1:
            for number, handler in self._before.items():
                signal.signal(number, handler)
            if self.asked and kind and issubclass(kind, Exception):  # which must not hide it
                signal.raise_signal(self.asked)
        self._blocks -= 1

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked is None:
            self.asked, self._since = number, time.monotonic()
            if self._blocks == self._outer:
                raise Stopped(number)
        elif time.monotonic() - self._since > TOGETHER:
            self._at_once(number, frame)


@dataclass
class Checkpoints:
    """The checkpoints of one run, all in one file.

    After one of the ``signals``, ``keep`` writes a checkpoint and raises Stopped.
    """

    path: Path
    about: Mapping[str, object]
    #: Seconds after which a checkpoint is due; 0: only evaluations make one due.
    every: float = CHECKPOINT_SECONDS
    #: Is called with a line about a refused checkpoint, or a failed write.
    tell: Callable[[str], None] = lambda line: None
    #: Whether the checkpoint of another run may be replaced; if not, what to do instead.
    overwrite: bool = True
    instead: str = INSTEAD
    signals: Signals = field(default_factory=Signals)

    def __post_init__(self) -> None:
        self._last, self._cost = time.perf_counter(), 0.0
        self._warned = False  # of a failed write

    def load(self) -> State | None:
        """The state to resume from; None without a usable checkpoint.

        Raises a UserError for the checkpoint of another run, unless it may be overwritten, and for
        a file that can't be read.
        """
        if not self.path.exists():
            return None
        data = memoryview(content_of(self.path, "checkpoint"))
        content, digest = data[:-_DIGEST], data[-_DIGEST:]
        if hashlib.sha256(content).digest() != digest:
            kept = self.path.replace(f"{self.path}.refused")
            return self.refuse(f"it is damaged, or another program's, and kept as {kept.name}")
        try:
            held = load_tensors(io.BytesIO(content))
            theirs, state = dict(held["about"]), dict(held["state"])
            json.dumps(theirs)  # values of other types can't be shown in a line
        except (*UNREADABLE, RecursionError):
            return self.refuse("it holds no run")
        ours = {"layout": LAYOUT, **self.about}
        if other := difference(theirs, ours):
            name = str(theirs.get("run", ""))
            named = name if name.isprintable() and name else "of another version"
            run = f"of the run {named}, with {other}"
            if self.overwrite:
                return self.refuse(f"it is {run}")
            folder = f"out: {str(self.path.parent)!r}"
            raise UserError(f"{folder} holds a checkpoint {run}; {self.instead}")
        by = remade(theirs, ours)
        return self.refuse(f"it is made with {by}") if by else state

    def refuse(self, reason: str) -> State | None:
        """Tell that the run starts over, without a state, and why."""
        self.tell(f"checkpoint: {str(self.path)!r} is refused: {reason}; starting over")
        return None

    def keep(self, step: int, steps: int, evaluated: bool, state: Callable[[], State]) -> None:
        """Write the ``state`` after ``step`` of ``steps`` if a checkpoint is due.

        One is due ``every`` so many seconds (0: never), and after an evaluation, unless checkpoints
        would take more than ``SHARE`` of the time. Raises Stopped after a signal.
        """
        now = time.perf_counter()
        since = now - self._last
        late = 0 < self.every <= since
        often = evaluated and self._cost <= SHARE * since
        asked = self.signals.asked
        if asked or late or often:
            written = self.write(state)
            self._last = time.perf_counter()
            self._cost = self._last - now
            if asked:
                raise Stopped(asked, step, steps, written)

    def write(self, state: Callable[[], State]) -> bool:
        """Write the ``state`` now; False if none was written."""
        try:
            write(self.path, self.about, state())
        except (OSError, UserError) as error:
            named = isinstance(error, UserError)  # its message names the file
            line = error if named else f"out: {str(self.path)!r} can't be written: {error}"
            if not self._warned:
                self.tell(f"{line}; training continues")
            self._warned = True
            return False
        return True
