"""Processes that tests start: each ends in time, or it is killed with all that it started."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import psutil
import pytest

LIMIT = 600  # seconds that nothing here takes, on a busy machine either

T = TypeVar("T")
_started: list[subprocess.Popen] = []


def start(command: Sequence[object], **how: object) -> subprocess.Popen:
    """Start a process in a group of its own, which does not outlive the test.

    Its output, and its errors unless ``how`` says otherwise, are pipes of text.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*map(str, command)], start_new_session=True, **{**pipes, **how})
    _started.append(process)
    return process


def ended(process: subprocess.Popen, within: float = LIMIT) -> tuple[str, str]:
    """What a process writes, as output and as errors, until it ends and nobody holds its pipes."""
    try:
        return process.communicate(timeout=within)
    except subprocess.TimeoutExpired as late:
        kill(process)
        said = b"".join(filter(None, (late.stdout, late.stderr))).decode(errors="replace")
        pytest.fail(f"not ended within {within} s: {process.args}\n{said}")


def finished(process: subprocess.Popen, code: int = 0, within: float = LIMIT) -> str:
    """The output of a process that ends with ``code``."""
    out, errors = ended(process, within)
    assert process.returncode == code, f"{out}\n{errors}"
    return out


def awaited(
    found: Callable[[], T], process: subprocess.Popen | None = None, within: float = LIMIT
) -> T:
    """What ``found`` returns once that is true, which it is before ``process`` ends."""
    end = time.monotonic() + within
    while not (value := found()):
        if process is not None and process.poll() is not None:
            pytest.fail(f"ended too early: {process.args}\n{ended(process)}")
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return value


def with_children(process: subprocess.Popen) -> list[psutil.Process]:
    """A process and all below it, if it still runs."""
    if process.poll() is not None:
        return []
    leader = psutil.Process(process.pid)
    return [leader, *leader.children(recursive=True)]


def kill(process: subprocess.Popen) -> None:
    """Kill a process, all below it, and what it has left behind."""
    for each in with_children(process):
        with suppress(psutil.NoSuchProcess):
            each.kill()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(LIMIT)


def kill_all() -> None:
    """Kill all that :func:`start` started and that still runs."""
    while _started:
        kill(_started.pop())
