"""Train a run in several processes, started here or by torchrun."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from ngo.cli import log
from ngo.cli.local_run import print_outcome
from ngo.cli.log import LOG
from ngo.common import plugins
from ngo.common.registry import UserError
from ngo.distributed.process_run import check, run
from ngo.distributed.processes import MISTAKE_EXIT_CODE, launch
from ngo.training.plugin_errors import named_in_errors
from ngo.training.spec import RunSpec

NO_CHECKPOINT = "a distributed run has no checkpoint: the same command starts over"


def train_distributed(
    spec: RunSpec,
    out: Path,
    root: Path,
    *,
    processes: int | None,
    timeout: float,
    **how: object,
) -> None:
    """Train ``spec`` in new ``processes``, or take part as a process that torchrun started."""
    how["timeout"] = timeout
    if processes is None:
        _join(spec, out, root, how)
        return
    check(spec, out, processes)
    LOG.info(spec.id)
    files = [each.path for each in plugins.loaded() if each.module.startswith(plugins.PREFIX)]
    with _ended_by_sigterm():
        launch(partial(_child, files, spec, out, root, how), processes, timeout=timeout)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """End this process on SIGTERM as on Ctrl-C: after cleaning up, with a line that says so."""

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # while cleaning up
        LOG.error("ngo: stopped by SIGTERM, with all processes of the run; %s", NO_CHECKPOINT)
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _join(spec: RunSpec, out: Path, root: Path, how: dict[str, object]) -> None:
    """Take part as a process that torchrun or the user has started."""
    code = 0
    try:
        _take_part(spec, out, root, how)
    except UserError as error:
        LOG.error("ngo: %s", error)
        code = MISTAKE_EXIT_CODE
    sys.stdout.flush()
    os._exit(code)  # a thread that waits for the store could abort a normal exit


def _child(
    files: Sequence[Path], spec: RunSpec, out: Path, root: Path, how: dict[str, object]
) -> None:
    """Take part, after setting up this new process like its parent."""
    log.configure()
    log.prepare()
    plugins.load_installed()
    plugins.load(files, key="plugin")
    _take_part(spec, out, root, how)


def _take_part(spec: RunSpec, out: Path, root: Path, how: dict[str, object]) -> None:
    with named_in_errors(spec):
        last = run(spec, out, root, report=LOG.info, **how)
    if last is not None:
        print_outcome(spec, last, out)
